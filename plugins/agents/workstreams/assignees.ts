// Assignees of an assignment: an agent by its key, or a person as `human:<user_id>`.
import { AppError, isUuid, type Store } from "#core"
import type { Organizations } from "../../platform/organizations/index.ts"
import { Agents, type StoredAgent } from "../threads/index.ts"

const person = "human:"

export interface AssigneeDeps {
  readonly store: Store
  readonly organizations: Organizations
}

/** Returns the agent, or undefined for a person. Throws `not_found` if the organization has neither. */
export async function requireAssignee(
  { store, organizations }: AssigneeDeps,
  organization: string,
  key: string,
): Promise<StoredAgent | undefined> {
  if (key.startsWith(person)) {
    const user = key.slice(person.length)
    if (isUuid(user) && (await organizations.membership(organization, user))) return undefined
  } else {
    const agent = await Agents.items.find(store, organization, key)
    if (agent) return agent
  }
  const message = `assigned_agent_key: the organization has no agent and no member "${key}"; GET /v1/agents and GET /v1/members list them.`
  throw new AppError("not_found", message, { reason: "assignee_not_found" })
}
