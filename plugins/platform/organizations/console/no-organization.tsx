// The page of a person without an organization in the session: open invitations, and ways to join or create an organization.
import {
  Ago,
  Answered,
  Badge,
  inBackground,
  me,
  OperationButton,
  type Output,
  refreshSession,
  Table,
  UntrustedText,
  useAnswer,
} from "#console"
import { Create, Open } from "./organizations.tsx"

type Invitation = Output<"me.list_invitations">["invitations"][number]

export default function NoOrganization() {
  const { user, organizations = [], may_create_organizations } = me.value ?? {}
  const isMember = organizations.length > 0
  return (
    <>
      <h1>{isMember ? "Choose an organization" : "You belong to no organization"}</h1>
      <p class="about">
        Signed in as <UntrustedText text={user?.name || user?.email || ""} />
        {user?.name && (
          <>
            , <UntrustedText text={user.email} />
          </>
        )}
        . <a href="/console/account">Your account</a> changes your name, address and passkeys.
      </p>
      {isMember && (
        <Table<{ readonly slug: string; readonly name: string }>
          label="Your organizations"
          rows={organizations}
          keyOf={({ slug }) => slug}
          columns={[
            { name: "name", show: ({ name }) => name },
            { name: "actions", title: <span class="skip">Actions</span>, show: ({ slug, name }) => <Open slug={slug} name={name} /> },
          ]}
        />
      )}
      <Invitations email={user?.email ?? ""} />
      {may_create_organizations && <Create onDone={() => undefined} />}
    </>
  )
}

function Invitations({ email }: { readonly email: string }) {
  const list = useAnswer("me.list_invitations")
  return (
    <section aria-label="Open invitations">
      <h2>Open invitations</h2>
      <Answered of={list}>
        {({ invitations }) =>
          invitations.length === 0 ? (
            <p class="nothing">
              No invitation is open. Ask an admin of the organization to invite <UntrustedText text={email} />.
            </p>
          ) : (
            <Table<Invitation>
              label="Open invitations"
              rows={invitations}
              keyOf={({ id }) => id}
              columns={[
                { name: "organization", show: ({ organization }) => organization.name },
                { name: "role", show: ({ role }) => <Badge>{role}</Badge> },
                { name: "expires", show: ({ expires_at }) => <Ago value={expires_at} /> },
                {
                  name: "actions",
                  title: <span class="skip">Actions</span>,
                  show: ({ id, organization }) => (
                    <OperationButton
                      operation="member_invitations.accept"
                      input={{ id }}
                      ask={`Join ${organization.name}?`}
                      about="Its members see your name and address."
                      onDone={() => inBackground(refreshSession())}
                    >
                      Join
                    </OperationButton>
                  ),
                },
              ]}
            />
          )
        }
      </Answered>
    </section>
  )
}
