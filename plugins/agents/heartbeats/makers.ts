// The makers of a heartbeat: callers who created it, changed its work, or resumed it.
import { AppError, type Caller, roleAtLeast } from "#core"
import type { OperationTools } from "#core/engine"
import type { ApiKeys, Author, FindPrincipal } from "../../platform/organizations/index.ts"
import type { HeartbeatRole } from "./collections.ts"
import type { StoredHeartbeat } from "./heartbeat.ts"
import type { Heartbeats } from "./heartbeats.ts"

const maxAuthors = 100

/** Fields that determine the work of a heartbeat. */
const acting = [
  "script_js",
  "datasets",
  "pipeline_slug",
  "instructions",
  "model",
  "role",
  "tools",
  "max_steps",
  "budget_millicents",
] as const

/** The authors of a heartbeat. */
export interface Maker {
  readonly made_by?: Author | null
  readonly authors?: Author[]
}

/** Returns the maker fields for the caller. A session counts as its sign-in key. */
export async function madeBy(keys: ApiKeys, caller: Caller, { authors = [] }: Maker = {}): Promise<Maker> {
  // A person outlives the session.
  const person = caller.signIn && caller.user?.id
  const credential_id = person ?? (await keys.keyBehind(caller.organization.id, caller.credential.id))
  if (credential_id === undefined) return { made_by: null, authors: [...authors] }
  const manager = caller.link ? { manager_id: caller.link.manager_id } : {}
  const maker: Author = { credential_id, user_id: caller.user?.id ?? null, ...manager }
  const others = authors.filter((author) => author.credential_id !== credential_id)
  return { made_by: maker, authors: [...others, maker].slice(-maxAuthors) }
}

export function changesActing(change: Readonly<Record<string, unknown>>): boolean {
  return acting.some((field) => change[field] !== undefined)
}

/** Throws `permission_denied` if the heartbeat would exceed the caller's rights. */
export function requireRights(tools: OperationTools, caller: Caller, heartbeat: StoredHeartbeat): void {
  const { kind, role, datasets, pipeline_slug } = heartbeat
  if (!roleAtLeast(caller.role, role)) throw beyond("role", `you act as ${caller.role}, and the heartbeat acts as ${role}`)
  const scopes =
    kind === "script"
      ? [...(datasets.length > 0 ? ["datasets:read"] : []), ...(pipeline_slug === "" ? [] : ["event_pipelines:write"])]
      : heartbeat.tools.flatMap((name) => tools.find(name)?.operation.access.scope ?? [])
  for (const scope of scopes) if (caller.scopes && !caller.scopes.has(scope)) throw beyond("tools", `your token lacks the scope ${scope}`)
}

function beyond(path: string, message: string): AppError {
  const fields = [{ path, message }]
  return new AppError("permission_denied", `${path}: ${message}. Use a credential with these rights.`, {
    reason: "heartbeat_beyond_caller",
    fields,
  })
}

/** Returns the heartbeat's effective role, or the reason why it stops. */
export async function standingOf(
  keys: ApiKeys,
  organization: string,
  { role, made_by }: StoredHeartbeat,
): Promise<{ readonly role: HeartbeatRole } | { readonly role: undefined; readonly lost: string }> {
  if (!made_by) return { role }
  const reach = await keys.currentReach(organization, made_by)
  if (reach.role === undefined) return reach
  if (!roleAtLeast(reach.role, "member")) return { role: undefined, lost: `Its maker is only ${reach.role} now.` }
  return { role: reach.role === "owner" || roleAtLeast(reach.role, role) ? role : reach.role }
}

/** Lets approvals of a heartbeat's calls find the heartbeat and its authors. */
export function heartbeatPrincipals(heartbeats: Pick<Heartbeats, "find">, tools: OperationTools): FindPrincipal {
  return async (organization, id) => {
    const heartbeat = await heartbeats.find(organization, id)
    if (!heartbeat) return undefined
    const { role, made_by = null, authors = [] } = heartbeat
    const operations = new Set(heartbeat.tools.map((name) => tools.find(name)?.operation.name ?? name))
    return { role, maker: made_by, authors, mayCall: (operation) => operations.has(operation) }
  }
}
