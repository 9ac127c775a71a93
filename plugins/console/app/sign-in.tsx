// The sign-in form: a code by mail, the link of the same mail, or a key.
import { type Signal, useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { parting } from "./api.ts"
import { ByCode, CodeForm } from "./by-code.tsx"
import { inBackground } from "./connection.ts"
import { claimOwnership, hasPasskeys, signIn, signInByPasskey } from "./session.ts"
import { Form } from "./sign-in-form.tsx"

interface SignInArgs {
  readonly link: Signal<string | null>
  readonly ownerLink: Signal<string | null>
}

/** `link`: from the URL of the page. Used only after a click, because mail scanners also open links. */
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
          isPlain
          send={(key) => signIn({ key })}
        />
        <p class="about">
          The session then has the rights of the key. The first start of the service prints a key, and a link that signs in once.
        </p>
      </section>
    </div>
  )
}

/** Requests the name and address of the first owner. With SMTP a mailed code follows. */
function FirstOwner({ code }: { readonly code: string }) {
  const name = useSignal("")
  const needsCode = useSignal(false)
  const claim = async (email: string) => {
    const answer = await claimOwnership(code, name.value, email)
    needsCode.value = answer.needsCode
    return answer.problem
  }
  return (
    <section aria-label="First owner">
      <p>You are the first owner. Give your name and your email address.</p>
      <label for="owner-name">Name</label>
      <input id="owner-name" autocomplete="name" value={name.value} onInput={(event) => (name.value = event.currentTarget.value)} />
      <Form name="First owner" label="Your email" field="owner_email" type="email" complete="email" button="Begin" send={claim} />
      {needsCode.value && (
        <>
          <p role="status">A code is on its way to this address. Enter it below.</p>
          <CodeForm />
        </>
      )}
    </section>
  )
}

interface ByPasskeyArgs {
  /** For a person signing in again: no email field. */
  readonly hasNoField?: boolean
  readonly onDone?: () => void
}

/** If possible, the browser also offers passkeys in the email field. */
export function ByPasskey({ hasNoField = false, onDone }: ByPasskeyArgs) {
  const isOffered = useSignal(false)
  useEffect(() => {
    isOffered.value = hasPasskeys()
    if (isOffered.value && !hasNoField) inBackground(signInByPasskey("in a field").then(() => undefined))
  }, [])
  if (!isOffered.value) return null
  const enter = async () => {
    const problem = await signInByPasskey("at once")
    if (problem === "") onDone?.()
    return problem
  }
  return <Form name="Sign in by passkey" field="passkey" button="Sign in with a passkey" send={enter} isPlain />
}
