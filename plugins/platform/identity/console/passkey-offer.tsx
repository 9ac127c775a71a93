// Offers a passkey after a sign-in by mail, if the person has no passkey. The browser remembers a dismissal.
import { useSignal } from "@preact/signals"
import { createPasskey, hasPasskeys, inBackground, me, Problem, segments, useAnswer, useSubmit } from "#console"

export default function PasskeyOffer() {
  const { user, sign_in } = me.value ?? {}
  // The account screen adds passkeys itself.
  if (!user || sign_in?.method !== "email_code" || !hasPasskeys() || segments()[0] === "account") return null
  return <Offer key={user.id} user={user.id} />
}

function Offer({ user }: { readonly user: string }) {
  const dismissal = `no passkey offer ${user}`
  const isDismissed = useSignal(localStorage.getItem(dismissal) !== null)
  const isAdded = useSignal(false)
  const list = useAnswer(isDismissed.value ? undefined : "passkeys.list")
  const { create, problem } = useNewPasskey()
  if (isDismissed.value || list.answer?.passkeys.length !== 0) return null
  const add = async () => {
    isAdded.value = await create("This device")
  }
  const dismiss = () => {
    localStorage.setItem(dismissal, "")
    isDismissed.value = true
  }
  return (
    <section aria-label="Passkey offer" class="chosen">
      <p role="status">
        {isAdded.value ? (
          <>
            Next time this device signs you in. <a href="/console/account">Your account</a> lists your passkeys.
          </>
        ) : (
          "Sign in faster next time: a passkey of this device replaces the mailed code."
        )}
      </p>
      {problem && <Problem text={problem} />}
      <div class="verbs">
        {!isAdded.value && (
          <button type="button" class="primary" onClick={() => inBackground(add())}>
            Add a passkey
          </button>
        )}
        <button type="button" onClick={dismiss}>
          {isAdded.value ? "Close" : "Not now"}
        </button>
      </div>
    </section>
  )
}

interface NewPasskey {
  /** Returns true if the passkey was added. */
  readonly create: (name: string) => Promise<boolean>
  readonly problem: string | undefined
}

/** Adds a passkey of this device to the account. */
export function useNewPasskey(): NewPasskey {
  const problem = useSignal("")
  const offer = useSubmit<{ readonly options: Parameters<typeof createPasskey>[0] }>("passkeys.offer")
  const add = useSubmit("passkeys.add")
  const create = async (name: string) => {
    problem.value = ""
    const offered = await offer.submit({})
    if (!offered) return false
    try {
      const answer = await createPasskey(offered.options)
      return (await add.submit({ name, answer })) !== undefined
    } catch (error) {
      problem.value =
        (error as Error).name === "InvalidStateError"
          ? "This device has a passkey of your account already."
          : "The browser created no passkey. Try again."
      return false
    }
  }
  return { create, problem: problem.value || offer.error?.message || add.error?.message }
}
