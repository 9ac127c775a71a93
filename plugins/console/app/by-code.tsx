// Sign-in by mail: requests a code, then enters it.
import { useSignal } from "@preact/signals"
import { place } from "./place.ts"
import { requestCode, signIn } from "./session.ts"
import { Form } from "./sign-in-form.tsx"

interface ByCodeArgs {
  /** The only address, for a person signing in again. */
  readonly address?: string
  readonly onDone?: (() => void) | undefined
}

/** Mails a code, then shows the form for it. */
export function ByCode({ address, onDone }: ByCodeArgs) {
  const sentTo = useSignal("")
  const count = useSignal(0)
  const request = async (email: string) => {
    const problem = await requestCode(email, place.value.pathname)
    if (problem !== "") return problem
    sentTo.value = email
    count.value++
    return ""
  }
  if (sentTo.value === "" && address !== undefined)
    return <Form name="Sign in by mail" field="email" button={`Mail a code to ${address}`} send={() => request(address)} isFirst />
  if (sentTo.value === "")
    return (
      <Form
        name="Sign in by mail"
        label="Email"
        field="email"
        type="email"
        complete="username webauthn"
        button="Mail me a code"
        send={request}
        isFirst
      />
    )
  return (
    <>
      <p role="status">
        {count.value > 1 && "A new code was requested. "}
        {address === undefined
          ? `If ${sentTo.value} has an account here, a mail with a code is on its way.`
          : `${address} gets a mail with a code.`}{" "}
        The code works in this browser for ten minutes.
      </p>
      <CodeForm key={count.value} onDone={onDone} />
      <div class="verbs">
        <Form name="New code" field="again" button="Mail a new code" send={() => request(sentTo.value)} isPlain />
        {address === undefined && (
          <button type="button" onClick={() => (sentTo.value = "")}>
            Use another address
          </button>
        )}
      </div>
    </>
  )
}

/** Enters a mailed code. */
export function CodeForm({ onDone }: Pick<ByCodeArgs, "onDone">) {
  const enter = async (code: string) => {
    const problem = await signIn({ email_code: code })
    if (problem === "") onDone?.()
    return problem
  }
  return <Form name="Sign in by mail" label="Code" field="email_code" complete="one-time-code" button="Continue" send={enter} isFirst />
}
