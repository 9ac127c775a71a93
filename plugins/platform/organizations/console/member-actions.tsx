// Actions on one member: role, ownership, new sign-ins, removal. Members can leave by themselves.
import { useSignal } from "@preact/signals"
import {
  hrefWith,
  inBackground,
  mayCall,
  me,
  OperationButton,
  type Output,
  Problem,
  refreshSession,
  roles,
  UntrustedText,
  useSubmit,
} from "#console"
import type { Departure, Leftover } from "./departed.tsx"

interface MemberActionsArgs {
  readonly member: Member
  readonly onChange: () => void
  readonly onLeft: (departure: Departure) => void
}

const consequences =
  "Keys, sessions and open connections of the person here end at once. Heartbeats and private connections of the person pause. Pipelines, pages and shared connections continue."

export function MemberActions({ member, onChange, onLeft }: MemberActionsArgs) {
  const { user_id, role } = member
  const name = titleOf(member)
  const isReset = useSignal(false)
  const organization = me.value?.organization?.name ?? ""
  const mayChange = grantable().includes(role)
  const onRemoved = (answer: object) => onLeft({ name, ...(answer as { ended_keys: number; left: readonly Leftover[] }) })
  return (
    <section aria-label="Member" class="chosen">
      <h2>
        <UntrustedText text={name} />
      </h2>
      {user_id === me.value?.user?.id ? (
        <OperationButton
          operation="members.leave"
          input={{}}
          isDangerous
          ask={`Leave ${organization}?`}
          about="Your keys and sessions here end at once. Your heartbeats and private connections here pause."
          onDone={() => inBackground(refreshSession(`You left ${organization}.`))}
        >
          Leave
        </OperationButton>
      ) : mayChange ? (
        <>
          <Role member={member} onChange={onChange} />
          <div class="verbs">
            {role !== "owner" && (
              <OperationButton
                operation="ownership.offer"
                input={{ user_id }}
                ask={`Offer the ownership to ${name}?`}
                about={`${name} becomes the owner by accepting within seven days. You become an admin then.`}
                onDone={onChange}
              >
                Offer the ownership
              </OperationButton>
            )}
            {mayCall("members.recover") && (
              <OperationButton
                operation="members.recover"
                input={{ user_id }}
                ask={`Reset the sign-ins of ${name}?`}
                about="For a stolen device or a lost passkey. Sessions end, passkeys are removed, and a mail asks the person to sign in again. Keys continue."
                onDone={() => (isReset.value = true)}
              >
                Reset sign-ins
              </OperationButton>
            )}
            <OperationButton
              operation="members.remove"
              input={{ user_id }}
              isDangerous
              ask={`Remove ${name} from ${organization}?`}
              about={consequences}
              onDone={onRemoved}
            >
              Remove
            </OperationButton>
          </div>
          {isReset.value && (
            <p role="status">
              The sign-ins of <UntrustedText text={name} /> were reset.
            </p>
          )}
        </>
      ) : (
        <p>Your role may not change this member.</p>
      )}
      <a href={hrefWith({ member: "" })}>Close</a>
    </section>
  )
}

function Role({ member: { user_id, role }, onChange }: { readonly member: Member; readonly onChange: () => void }) {
  const newRole = useSignal<string>(role)
  const { submit, isBusy, error } = useSubmit("members.change_role", { user_id, role: newRole.value })
  if (!mayCall("members.change_role")) return null
  const change = async () => {
    if (await submit({ user_id, role: newRole.value })) onChange()
  }
  return (
    <form
      aria-label="Change role"
      class="filters"
      onSubmit={(event) => {
        event.preventDefault()
        inBackground(change())
      }}
    >
      <div>
        <label for="member-role">Role</label>
        <select id="member-role" value={newRole.value} onChange={(event) => (newRole.value = event.currentTarget.value)}>
          {grantable().map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      </div>
      <button type="submit" aria-disabled={isBusy || newRole.value === role}>
        Change role
      </button>
      {error && <Problem text={error.message} />}
    </form>
  )
}

export type Member = Output<"members.list">["members"][number]

/** Name of a member, or the address. */
function titleOf({ name, email }: Pick<Member, "name" | "email">): string {
  return name || email || "the first owner"
}

/** Returns the name of a current or former user of the organization. */
export function nameOf(user: string | null, members: readonly Member[]): string {
  if (user === null) return "a service key"
  const member = members.find(({ user_id }) => user_id === user)
  return member ? titleOf(member) : "a former member"
}

/** Roles up to the person's own. A manager's credential changes no members. */
export function grantable(): readonly string[] {
  const { role, credential } = me.value ?? {}
  return !role || credential?.manager ? [] : roles.slice(0, roles.indexOf(role) + 1)
}
