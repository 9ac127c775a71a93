// Checks the decider of an approval: a person with another root, user and manager than the requester. An interactive session also
// decides requests of its own user, unless the organization requires a second person.
import { AppError, type Caller } from "#core"
import { decidingRight, requesterOf } from "#core/engine"
import { type ApiKeys, type FindPrincipal, findPrincipal, type Organizations, type Origins, userOrigin } from "../organizations/index.ts"
import type { StoredApproval } from "./collections.ts"

export interface DeciderDeps {
  readonly apiKeys: ApiKeys
  readonly principals: readonly FindPrincipal[]
  readonly organizations: Organizations
}

/** Throws `permission_denied` if the caller may not decide about the approval. */
export async function requireDecider(deps: DeciderDeps, { requester }: StoredApproval, caller: Caller): Promise<void> {
  const organization = caller.organization.id
  const right = decidingRight(caller)
  const requesterOrigins = await originsOf(deps, organization, requester)
  const ownOrigins = await deps.apiKeys.origins(organization, requesterOf(caller))
  const shared = [...ownOrigins].filter((origin) => requesterOrigins.has(origin))
  if (shared.length > 0) {
    const isOwnUser = right === "own_and_others" && caller.user && shared.every((origin) => origin === userOrigin(caller.user?.id ?? ""))
    if (!isOwnUser) throw ownRequest("Credentials of one root, user or manager do not decide for each other")
    if (await deps.organizations.requiresSecondPerson(organization)) throw ownRequest("The organization requires a second person")
  }
  if (right !== "none") return
  const message = "Only a person decides: sign in, or use an API key of a user. Tokens, agents and services do not decide."
  throw new AppError("permission_denied", message, { reason: "decider_not_a_person" })
}

/** Returns the origins of the requester. For a heartbeat: the origins of all its authors. */
async function originsOf(
  { apiKeys, principals }: DeciderDeps,
  organization: string,
  requester: StoredApproval["requester"],
): Promise<Origins> {
  const credentialId = requester.credential_id
  const principal = credentialId === null ? undefined : await findPrincipal(principals, organization, credentialId)
  const parties = principal?.authors ?? [requester]
  const origins = await Promise.all(parties.map((party) => apiKeys.origins(organization, party)))
  return new Set(origins.flatMap((parents) => [...parents]))
}

function ownRequest(reason: string): AppError {
  return new AppError("permission_denied", `This is your own request. ${reason}. Ask another admin to decide.`, { reason: "own_request" })
}
