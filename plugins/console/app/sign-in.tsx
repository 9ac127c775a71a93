// The sign-in form: a code by mail, the link of that mail, or a key.
import { type Signal, useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { parting, requestCode, signIn } from "./api.ts"
import { FirstOwner } from "./first-owner.tsx"
import { inBackground } from "./in-background.ts"
import { hasPasskeys, signInByPasskey } from "./passkeys.ts"
import { place } from "./place.ts"
import { Form } from "./sign-in-form.tsx"

interface SignInArgs {
  readonly link: Signal<string | null>
  readonly ownerLink: Signal<string | null>
}

/** `link`: from the address of the page; used after a click, since mail scanners open links too. */
export default function SignIn({ link, ownerLink }: SignInArgs) {
  const byLink = async () => {
    const problem = await signIn({ link: link.value ?? "" })
    link.value = null
    if (problem !== "") parting.value = problem
    return ""
  }
  return (
    <div class="sign-in">
      <h1>Sign in to Millrace</h1>
      {parting.value !== "" && <p role="status">{parting.value}</p>}
      {link.value !== null && <Form name="Sign in by link" field="link" button="Sign in by link" send={byLink} />}
      {ownerLink.value !== null && <FirstOwner code={ownerLink.value} />}
      <ByPasskey />
      <ByCode />
      <section aria-label="Sign in with a key">
        <h2>Or use an API key</h2>
        <Form
          name="Sign in"
          label="API key"
          field="key"
          type="password"
          complete="current-password"
          button="Sign in"
          send={(key) => signIn({ key })}
        />
        <p class="about">
          The session then has the rights of the key. The first start of the service prints a key, and a link that signs in once.
        </p>
      </section>
    </div>
  )
}

interface ByPasskeyArgs {
  /** For a person who signs in again: the email field is absent. */
  readonly hasNoField?: boolean
  readonly onDone?: () => void
}

/** The browser offers passkeys in the email field too, if it can. */
export function ByPasskey({ hasNoField = false, onDone }: ByPasskeyArgs) {
  const problem = useSignal("")
  const isOffered = useSignal(false)
  useEffect(() => {
    isOffered.value = hasPasskeys()
    if (isOffered.value && !hasNoField) inBackground(signInByPasskey("in a field").then(() => undefined))
  }, [])
  if (!isOffered.value) return null
  const enter = async () => {
    problem.value = await signInByPasskey("at once")
    if (problem.value === "") onDone?.()
  }
  return (
    <>
      <button type="button" onClick={() => inBackground(enter())}>
        Sign in with a passkey
      </button>
      <p role="alert" class="problem">
        {problem.value}
      </p>
    </>
  )
}

interface ByCodeArgs {
  /** The only address, for a person who signs in again. */
  readonly address?: string
  readonly onDone?: () => void
}

/** Mails a code, then asks for it. */
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
  const enter = async (code: string) => {
    const problem = await signIn({ email_code: code })
    if (problem === "") onDone?.()
    return problem
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
      <Form
        key={count.value}
        name="Sign in by mail"
        label="Code"
        field="email_code"
        type="text"
        complete="one-time-code"
        button="Continue"
        send={enter}
        isFirst
      />
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
