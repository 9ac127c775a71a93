// Offers a passkey to a person who signed in by mail and has no passkey. The browser remembers a dismissal.
import { useSignal } from "@preact/signals"
import { hasPasskeys, inBackground, me, Problem, segments, useAnswer } from "#console"
import { useNewPasskey } from "./new-passkey.ts"

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
