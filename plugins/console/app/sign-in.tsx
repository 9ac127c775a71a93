// The sign-in form: a code by mail, the link of that mail, or a key.
import { type Signal, useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import { parting, requestCode, signIn } from "./api.ts"
import { inBackground } from "./in-background.ts"
import { hasPasskeys, signInByPasskey } from "./passkeys.ts"
import { place } from "./place.ts"
import { withOwnTimes } from "./show.tsx"

/** `link`: from the address of the page; used after a click, since mail scanners open links too. */
export function SignIn({ link, ownerLink }: { readonly link: Signal<string | null>; readonly ownerLink: Signal<string | null> }) {
  const byLink = async () => {
    const problem = await signIn({ link: link.value ?? "" })
    link.value = null
    if (problem !== "") parting.value = problem
    return ""
  }
  return (
    <div class="sign-in">
      <h1>Millrace</h1>
      {parting.value !== "" && <p role="status">{parting.value}</p>}
      {link.value !== null && <Form name="Sign in by link" field="link" button="Sign in by link" send={byLink} />}
      <ByPasskey />
      {ownerLink.value !== null && <FirstOwner code={ownerLink.value} />}
      <ByCode />
      <Form
        name="Sign in"
        label="API key"
        field="key"
        type="password"
        complete="current-password"
        button="Sign in"
        send={(key) => signIn({ key })}
      />
      <p>The first start of the service prints a key, and a link that signs in once.</p>
    </div>
  )
}

/** The browser offers passkeys in the email field too, if it can. */
function ByPasskey() {
  const problem = useSignal("")
  const isOffered = useSignal(false)
  useEffect(() => {
    isOffered.value = hasPasskeys()
    if (isOffered.value) inBackground(signInByPasskey("in a field").then(() => undefined))
  }, [])
  if (!isOffered.value) return null
  const enter = async () => {
    problem.value = await signInByPasskey("at once")
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

/** The name and the address of the first owner. With SMTP a mailed code follows. */
function FirstOwner({ code }: { readonly code: string }) {
  const name = useSignal("")
  const isSent = useSignal(false)
  const claim = async (email: string) => {
    const problem = await signIn({ code, name: name.value, email })
    isSent.value = problem.startsWith("A code is on its way")
    return problem
  }
  return (
    <>
      <p>You are the first owner. Give your name and your email address.</p>
      <label for="owner-name">Name</label>
      <input id="owner-name" autocomplete="name" value={name.value} onInput={(event) => (name.value = event.currentTarget.value)} />
      <Form name="First owner" label="Your email" field="owner_email" type="email" complete="email" button="Begin" send={claim} />
      {isSent.value && <CodeForm />}
    </>
  )
}

function CodeForm() {
  const send = (code: string) => signIn({ email_code: code })
  return <Form name="Sign in by mail" label="Code" field="email_code" complete="one-time-code" button="Continue" send={send} isFirst />
}

function ByCode() {
  const sentTo = useSignal("")
  const request = async (email: string) => {
    const problem = await requestCode(email, place.value.pathname)
    if (problem === "") sentTo.value = email
    return problem
  }
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
      <p role="status">If {sentTo.value} has an account here, a code is on its way. It works in this browser for ten minutes.</p>
      <CodeForm />
      <button type="button" onClick={() => (sentTo.value = "")}>
        Use another address
      </button>
    </>
  )
}

interface FormProps {
  readonly name: string
  readonly button: string
  readonly label?: string
  readonly field: string
  readonly type?: "email" | "password" | "text"
  readonly complete?: string
  readonly isFirst?: boolean
  /** Returns the problem; empty on success. */
  readonly send: (value: string) => Promise<string>
}

function Form({ name, button, label, field, type = "text", complete = "off", isFirst, send }: FormProps) {
  const problem = useSignal("")
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (isFirst) input.current?.focus()
  }, [])
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const value = String(new FormData(event.currentTarget as HTMLFormElement).get(field) ?? "").trim()
    problem.value = label !== undefined && value === "" ? `Fill in: ${label}.` : await send(value)
  }
  return (
    <form onSubmit={(event) => inBackground(submit(event))} aria-label={name} noValidate>
      {label !== undefined && (
        <>
          <label for={field}>{label}</label>
          <input ref={input} id={field} name={field} type={type as "text"} autocomplete={complete} aria-describedby={`${field}-problem`} />
        </>
      )}
      <p id={`${field}-problem`} role="alert" class="problem">
        {withOwnTimes(problem.value)}
      </p>
      <button type="submit">{button}</button>
    </form>
  )
}
