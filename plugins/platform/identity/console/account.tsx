// The signed-in person: address, sign-in, sessions, and the end of the account.

import { useSignal } from "@preact/signals"
import { Facts, inBackground, me, OperationButton, OperationDetails, OperationForm, refreshSession, SameAs, Time } from "#console"
import { OwnName } from "./own-name.tsx"
import { Passkeys } from "./passkeys.tsx"
import { methodName, Sessions } from "./sessions.tsx"

export default function Account() {
  const { user, sign_in, role, organization, credential } = me.value ?? {}
  return (
    <>
      <h1>Your account</h1>
      <Facts
        of={[
          ["email", user?.email ?? "none: this is a service key"],
          ["organization", organization?.name ?? "none"],
          ["role", role ?? "none"],
          [
            "signed in",
            sign_in ? (
              <span key="at">
                {methodName(sign_in.method)}, <Time value={sign_in.at} />
              </span>
            ) : (
              "with a key"
            ),
          ],
        ]}
      />
      {!sign_in && <p class="about">A session opened with a key changes no account. Sign in by mail to change yours.</p>}
      {user && sign_in && <OwnName name={user.name} />}
      {sign_in && <Address />}
      {sign_in && <Passkeys />}
      {user && !credential?.manager && <Sessions />}
      {sign_in && (
        <section aria-label="Delete your account">
          <h2>Delete your account</h2>
          <p class="about">Your memberships, keys, sessions and passkeys end at once.</p>
          <OperationButton
            operation="me.delete"
            input={{}}
            isDangerous
            ask="Delete your account?"
            about="This cannot be undone."
            onDone={() => inBackground(refreshSession("Your account was deleted."))}
          >
            Delete your account
          </OperationButton>
        </section>
      )}
      <SameAs name="me.get" input={{}} />
    </>
  )
}

/** Changes the account's address. The new address receives a code for the confirmation. */
function Address() {
  const isAsked = useSignal(false)
  const onConfirmed = () => {
    isAsked.value = false
    inBackground(refreshSession())
  }
  return isAsked.value ? (
    <section aria-label="New address">
      <p role="status">If no other account uses the new address, a mail with a code is on its way.</p>
      <OperationForm name="me.confirm_address" onDone={onConfirmed} />
      <button type="button" onClick={() => (isAsked.value = false)}>
        Use another address
      </button>
    </section>
  ) : (
    <OperationDetails title="Change your address" name="me.change_address" onDone={() => (isAsked.value = true)} />
  )
}
