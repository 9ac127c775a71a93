// Open invitations of members, and the invitation form.
import { useSignal } from "@preact/signals"
import {
  Ago,
  Answered,
  Badge,
  Copied,
  inBackground,
  NextPage,
  Nothing,
  OperationButton,
  type Output,
  Problem,
  query,
  SameAs,
  Table,
  UntrustedText,
  useAnswer,
  useSubmit,
} from "#console"
import { grantable, type Member, nameOf } from "./member-actions.tsx"

type Invitation = Output<"member_invitations.list">["invitations"][number]

type SentInvitation = Output<"members.invite">

export function Invitations({ members }: { readonly members: readonly Member[] }) {
  const { cursor = "" } = query()
  const answer = useAnswer("member_invitations.list", cursor === "" ? {} : { cursor })
  const latest = useSignal<SentInvitation | undefined>(undefined)
  const show = (invitation: SentInvitation) => {
    latest.value = invitation
    answer.reload()
  }
  return (
    <>
      {grantable().length > 0 && <Invite onDone={show} />}
      {latest.value && <Link of={latest.value} />}
      <Answered of={answer}>
        {({ invitations, next_cursor }) => (
          <>
            <h2>Open invitations</h2>
            {invitations.length === 0 ? (
              <Nothing>There is no open invitation.</Nothing>
            ) : (
              <Table<Invitation>
                label="Open invitations"
                rows={invitations}
                keyOf={({ id }) => id}
                columns={[
                  { name: "email", show: ({ email }) => email },
                  { name: "role", show: ({ role }) => <Badge>{role}</Badge> },
                  { name: "invited by", show: ({ invited_by }) => nameOf(invited_by, members) },
                  { name: "sent", show: ({ sent_at }) => <Ago value={sent_at} /> },
                  { name: "expires", show: ({ expires_at }) => <Ago value={expires_at} /> },
                  {
                    name: "actions",
                    title: <span class="skip">Actions</span>,
                    show: (invitation) => <Actions of={invitation} onSent={show} onRevoked={answer.reload} />,
                  },
                ]}
              />
            )}
            <NextPage cursor={next_cursor} />
          </>
        )}
      </Answered>
      <SameAs name="member_invitations.list" input={{}} />
    </>
  )
}

interface ActionsArgs {
  readonly of: Invitation
  readonly onSent: (invitation: SentInvitation) => void
  readonly onRevoked: () => void
}

function Actions({ of: { id, email, role }, onSent, onRevoked }: ActionsArgs) {
  if (!grantable().includes(role)) return null
  return (
    <>
      <OperationButton
        operation="member_invitations.resend"
        input={{ id }}
        ask={`Send a new link to ${email}?`}
        about="The old link ends."
        onDone={(answer) => onSent(answer as unknown as SentInvitation)}
      >
        Resend
      </OperationButton>{" "}
      <OperationButton
        operation="member_invitations.revoke"
        input={{ id }}
        isDangerous
        ask={`Revoke the invitation of ${email}?`}
        onDone={onRevoked}
      >
        Revoke
      </OperationButton>
    </>
  )
}

function Invite({ onDone }: { readonly onDone: (invitation: SentInvitation) => void }) {
  const email = useSignal("")
  const role = useSignal("member")
  const { submit, isBusy, error } = useSubmit("members.invite", { email: email.value || "ada@example.com", role: role.value })
  const invite = async () => {
    const invitation = await submit({ email: email.value, role: role.value })
    if (!invitation) return
    email.value = ""
    onDone(invitation)
  }
  return (
    <form
      aria-label="Invite"
      class="filters whole"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        inBackground(invite())
      }}
    >
      <div>
        <label for="invite-email">Email</label>
        <input
          id="invite-email"
          type="email"
          autocomplete="off"
          value={email.value}
          onInput={(event) => {
            email.value = event.currentTarget.value
          }}
        />
      </div>
      <div>
        <label for="invite-role">Role</label>
        <select id="invite-role" value={role.value} onChange={(event) => (role.value = event.currentTarget.value)}>
          {grantable().map((grantableRole) => (
            <option key={grantableRole} value={grantableRole}>
              {grantableRole}
            </option>
          ))}
        </select>
      </div>
      <button type="submit" class="primary" aria-disabled={isBusy}>
        Invite
      </button>
      {error && <Problem text={error.message} />}
    </form>
  )
}

/** The link, if mail goes to the outbox folder of the service. */
function Link({ of: { email, link } }: { readonly of: SentInvitation }) {
  return (
    <section aria-label="Sent invitation" class="chosen">
      <p role="status">
        {link === null ? "A mail with the link is on its way to " : "The service sends no mail. Pass this link to "}
        <UntrustedText text={email} />.{" "}
        {link === null ? "The link works once, for seven days." : "The link is shown once. It works for seven days."}
      </p>
      {link !== null && <Copied text={link} name="link" />}
    </section>
  )
}
