// The signed-in person: address, sign-in, sessions, and the end of the account.
import { Facts, inBackground, me, OperationButton, refreshSession, SameAs, Time } from "#console"
import { Address } from "./address.tsx"
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
          ["organization", organization?.name ?? ""],
          ["role", role ?? ""],
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
      {sign_in && <Address />}
      {sign_in && <Passkeys />}
      {user && !credential?.manager && <Sessions />}
      {sign_in && (
        <section aria-label="Delete the account">
          <OperationButton
            operation="me.delete"
            input={{}}
            isDangerous
            ask="Delete your account?"
            onDone={() => inBackground(refreshSession())}
          >
            Delete your account
          </OperationButton>
        </section>
      )}
      <SameAs name="me.get" input={{}} />
    </>
  )
}
