// Names of people and keys that ask and decide.
import { mayCall, useAnswer } from "#console"

export interface Asker {
  readonly credential_id: string | null
  readonly user_id: string | null
}

/** Returns a function that names a person, or the key of a service. */
export function useNames(): (of: Asker) => string {
  const people = useAnswer(mayCall("members.list") ? "members.list" : undefined, { limit: 200 }).answer
  const keys = useAnswer(mayCall("api_keys.list") ? "api_keys.list" : undefined, { limit: 200 }).answer
  return ({ user_id, credential_id }) => {
    if (user_id === null) return keys?.api_keys.find(({ id }) => id === credential_id)?.name ?? "a service key or a heartbeat"
    const member = people?.members.find((person) => person.user_id === user_id)
    if (member) return member.name || member.email || "the first owner"
    return people?.next_cursor === "" ? "a former member" : user_id
  }
}
