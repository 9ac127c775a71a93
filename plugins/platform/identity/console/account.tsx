// The signed-in person: address, sign-in, sessions, and the end of the account.
import { Facts, inBackground, me, OperationButton, refreshSession, SameAs, Time } from "#console"
import { Address } from "./address.tsx"
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
