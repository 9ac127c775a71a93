// The page of an invitation link. A person with an account signs in first. A new person enters a name.
import { type Signal, useSignal } from "@preact/signals"
import { Problem } from "./answer.tsx"
import { me, refreshSession, signOut } from "./api.ts"
import { ByCode } from "./by-code.tsx"
import { inBackground } from "./connection.ts"
import { UntrustedText } from "./foreign.tsx"
import { go } from "./place.ts"
import { post } from "./session.ts"
import { Form } from "./sign-in-form.tsx"

interface Joined {
  readonly organization: { readonly name: string }
}

/** `code`: from the URL of the page. Used only after a click, because mail scanners also open links. */
export default function Join({ code }: { readonly code: Signal<string | null> }) {
  const mustSignIn = useSignal(false)
  const signInProblem = useSignal("")
  const email = me.value?.user?.email
  const join = async (name: string) => {
    const answer = await post<Joined>("/join", { code: code.value, ...(name !== "" && { name }) })
    if ("problem" in answer) {
      mustSignIn.value = answer.reason === "sign_in_first"
      return mustSignIn.value ? "" : answer.problem
    }
    const problem = await refreshSession()
    if (problem === "") leave()
    return problem
  }
  const leave = () => {
    code.value = null
    go("/console", { replace: true })
  }
  const joinSignedIn = async () => {
    signInProblem.value = await join("")
    mustSignIn.value = false
  }
  return (
    <div class="sign-in">
      <h1>Join an organization</h1>
      {mustSignIn.value ? (
        <>
          <p>This invitation needs a sign-in with the invited address. You join right after it.</p>
          <ByCode onDone={() => inBackground(joinSignedIn())} />
        </>
      ) : email === undefined ? (
        <>
          <p>You were invited to an organization on this service. How should others see your name?</p>
          <Form name="Join" label="Your name" field="name" complete="name" button="Join" send={join} isFirst />
        </>
      ) : (
        <>
          <p>
            You are signed in as <UntrustedText text={email} />. The invitation works for the invited address alone.
          </p>
          <Form name="Join" field="join" button="Join" send={() => join("")} />
          {signInProblem.value !== "" && <Problem text={signInProblem.value} />}
          <div class="verbs">
            <button type="button" onClick={() => inBackground(signOut())}>
              Use another address
            </button>
            <button type="button" onClick={leave}>
              Not now
            </button>
          </div>
        </>
      )}
    </div>
  )
}
