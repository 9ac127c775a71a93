// The name and the address of the first owner. With SMTP a mailed code follows.
import { useSignal } from "@preact/signals"
import { signIn } from "./api.ts"
import { Form } from "./sign-in-form.tsx"

export function FirstOwner({ code }: { readonly code: string }) {
  const name = useSignal("")
  const isSent = useSignal(false)
  const claim = async (email: string) => {
    const problem = await signIn({ code, name: name.value, email })
    isSent.value = problem.startsWith("A code is on its way")
    return problem
  }
  const enter = (text: string) => signIn({ email_code: text })
  return (
    <section aria-label="First owner">
      <p>You are the first owner. Give your name and your email address.</p>
      <label for="owner-name">Name</label>
      <input id="owner-name" autocomplete="name" value={name.value} onInput={(event) => (name.value = event.currentTarget.value)} />
      <Form name="First owner" label="Your email" field="owner_email" type="email" complete="email" button="Begin" send={claim} />
      {isSent.value && (
        <Form name="Sign in by mail" label="Code" field="email_code" complete="one-time-code" button="Continue" send={enter} isFirst />
      )}
    </section>
  )
}
