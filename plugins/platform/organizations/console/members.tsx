// Members with their roles, open invitations, and offers of ownership.
import { useSignal } from "@preact/signals"
import {
  Answered,
  Badge,
  hrefWith,
  mayCall,
  me,
  NextPage,
  query,
  SameAs,
  setQuery,
  Table,
  Tabs,
  Time,
  UntrustedText,
  useAnswer,
} from "#console"
import { Departed, type Departure } from "./departed.tsx"
import { Invitations } from "./invitations.tsx"
import { type Member, MemberActions } from "./member-actions.tsx"
import { Offers } from "./offers.tsx"

export default function Members() {
  const { cursor = "", list = "" } = query()
  const input = { limit: 200, ...(cursor !== "" && { cursor }) }
  const answer = useAnswer("members.list", input, { everyMs: 10_000 })
  const mayInvite = mayCall("member_invitations.list")
  return (
    <>
      <h1>Members</h1>
      {mayInvite && (
        <Tabs
          name="list"
          tabs={[
            ["members", "Members"],
            ["invitations", "Invitations"],
          ]}
          drops={["cursor", "member"]}
        />
      )}
      <Answered of={answer}>
        {({ members, next_cursor }) =>
          mayInvite && list === "invitations" ? (
            <Invitations members={members} />
          ) : (
            <>
              <Offers members={members} onDone={answer.reload} />
              <People members={members} reload={answer.reload} />
              <NextPage cursor={next_cursor} />
              <SameAs name="members.list" input={{}} />
            </>
          )
        }
      </Answered>
    </>
  )
}

function People({ members, reload }: { readonly members: readonly Member[]; readonly reload: () => void }) {
  const departure = useSignal<Departure | undefined>(undefined)
  const selected = members.find(({ user_id }) => user_id === query()["member"])
  const onLeft = (result: Departure) => {
    departure.value = result
    setQuery({ member: "" })
    reload()
  }
  return (
    <>
      {departure.value && <Departed of={departure.value} />}
      {selected && <MemberActions key={`${selected.user_id} ${selected.role}`} member={selected} onChange={reload} onLeft={onLeft} />}
      <Table<Member>
        label="Members"
        rows={members}
        keyOf={({ user_id }) => user_id}
        columns={[
          {
            name: "name",
            show: ({ user_id, name, email }) => (
              <>
                <a href={hrefWith({ member: user_id })} aria-current={user_id === selected?.user_id ? "true" : undefined}>
                  <UntrustedText text={name || email || "First owner, not named yet"} />
                </a>{" "}
                {user_id === me.value?.user?.id && <Badge>you</Badge>}
              </>
            ),
          },
          { name: "role", show: ({ role }) => <Badge>{role}</Badge> },
          { name: "email", show: ({ email }) => email },
          { name: "joined", show: ({ created_at }) => <Time value={created_at} /> },
        ]}
      />
    </>
  )
}
