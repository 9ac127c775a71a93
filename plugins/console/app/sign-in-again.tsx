// The dialog of a call with a required fresh sign-in. The call runs again after the sign-in.
import { useEffect, useRef } from "preact/hooks"
import { me, type SignInRequest } from "./api.ts"
import { ByCode } from "./by-code.tsx"
import { ByPasskey } from "./sign-in.tsx"

export default function SignInAgain({ finish }: SignInRequest) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [])
  const { id: user, email } = me.value?.user ?? {}
  // A sign-in of another person does not finish the call.
  const onSignIn = () => finish(me.value?.user?.id === user)
  return (
    <dialog ref={dialog} class="confirmation" aria-labelledby="sign-in-again" onClose={() => finish(false)}>
      <h2 id="sign-in-again">Sign in again</h2>
      <p>This change needs a sign-in within the last five minutes. It continues right after the sign-in.</p>
      <ByPasskey hasNoField onDone={onSignIn} />
      {email !== undefined && <ByCode address={email} onDone={onSignIn} />}
      <p class="verbs">
        <button type="button" onClick={() => finish(false)}>
          Cancel
        </button>
      </p>
    </dialog>
  )
}
