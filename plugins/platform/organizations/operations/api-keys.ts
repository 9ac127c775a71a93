// Creating, listing and revoking keys.
import { z } from "zod"
import { AppError, type Caller, Clock, callerKind, defineList, defineOperation, Name, resultOf, roleAtLeast, Timestamp, Uuid } from "#core"
import { Declarations, type FieldProblem, nearest, Operations, requesterOf, roles } from "#core/engine"
import { prefixOf } from "../../identity/index.ts"
import { ApiKeys } from "../api-keys.ts"
import { KeysCollection, type StoredKey } from "../collections.ts"
import { Organizations } from "../directory.ts"
import { Members } from "../members/members.ts"

const Scope = z
  .string()
  .regex(/^(?:[a-z][a-z0-9_]*:(?:read|write)|live:subscribe|mcp)$/, "`<area>:read`, `<area>:write`, `live:subscribe` or `mcp`")

const ApiKey = z.object({
  id: Uuid,
  prefix: z.string().describe("Prefix of the key, to recognize it."),
  kind: z
    .enum(["api_key", "token", "agent", "session"])
    .describe("`agent`: token of an agent; `session`: of a browser that has signed in."),
  name: z.string(),
  role: z.enum(roles),
  scopes: z.array(z.string()).nullable().describe("Scopes of a token; null: everything that the role allows."),
  manager: z.boolean(),
  user_id: Uuid.nullable().describe("Owner; null for a service principal."),
  created_by: Uuid.nullable().describe("The key or session that made it; null for a first key, and where it is not known."),
  created_at: Timestamp,
  expires_at: Timestamp.nullable(),
  last_used_at: Timestamp.nullable().describe("Accurate to the minute."),
  revoked_at: Timestamp.nullable(),
})

const CreateInput = z.strictObject({
  name: Name,
  kind: z
    .enum(["api_key", "token", "agent"])
    .default("api_key")
    .describe("`token`: limited to `scopes`; `agent`: a token whose calls are those of an agent, over REST too."),
  role: z.enum(roles).default("member").describe("Role of the key; at most the caller's."),
  scopes: z
    .array(Scope)
    .min(1)
    .max(100)
    .optional()
    .describe("Scopes, required for a token: `<area>:read`, `<area>:write`, `live:subscribe`, `mcp`."),
  manager: z
    .boolean()
    .default(false)
    .describe("Whether the key is a service principal that also acts in the managed organizations. Owners only."),
  expires_at: Timestamp.optional().describe("Expiry of the key; absent: never."),
})
type CreateInput = z.infer<typeof CreateInput>

export const createKey = defineOperation({
  name: "api_keys.create",
  summary: "Create an API key or a scoped token; the key is shown once, in this response.",
  http: { method: "POST", path: "/v1/api-keys" },
  access: { scope: "api_keys:write", role: "admin", freshSignIn: true },
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: CreateInput,
  output: ApiKey.extend({ secret: z.string().describe("The key itself, shown once.") }),
  errors: ["invalid_argument", "permission_denied", "aborted"],
  examples: [
    { input: { name: "Website" } },
    { title: "A token that reads datasets", input: { name: "Reports", kind: "token", scopes: ["datasets:read"] } },
    { title: "A token of an agent", input: { name: "Lead scorer", kind: "agent", scopes: ["mcp", "leads:read"] } },
  ],
  mcp: { absent: "An agent must not make the keys of persons and services." },
  secretOutput: ["secret"],
  inject: { keys: ApiKeys, organizations: Organizations, members: Members, clock: Clock, declared: Declarations },
  async handle({ input, caller, deps, work }) {
    refuseMore(input, caller)
    refuseSenseless(input, deps.clock.now())
    refuseUnknown(input.scopes ?? [], deps.declared)
    // A manager's user is not a member here. Keys created by that user belong to the organization.
    const member = caller.user && !input.manager ? await deps.organizations.membership(caller.organization.id, caller.user.id) : undefined
    const { stored: document, text } = deps.keys.mint(work, caller.organization.id, {
      name: input.name,
      kind: input.kind,
      role: input.role,
      scopes: input.scopes ? [...new Set(input.scopes)] : null,
      manager: input.manager,
      user: member?.user_id ?? null,
      createdBy: caller.credential.id,
      origins: await deps.keys.origins(caller.organization.id, requesterOf(caller)),
      expiresAt: input.expires_at ?? null,
      managerId: caller.link?.manager_id,
    })
    if (member) deps.members.countKey(work, caller.organization.id, member.user_id)
    // Refuses the commit if the management has ended. A concurrent end of the management repeats with this key and revokes it.
    if (caller.link) deps.organizations.countKey(work, caller.organization.id, caller.link.manager_id)
    return { ...toResource(document), secret: text }
  },
})

export const listKeys = defineList({
  name: "api_keys.list",
  summary: "List the organization's keys, tokens and sessions of browsers, newest first, including revoked ones.",
  path: "/v1/api-keys",
  access: { scope: "api_keys:read", role: "admin" },
  columns: ["name", "kind", "role", "scopes", "last_used_at", "id"],
  collection: KeysCollection,
  items: { api_keys: ApiKey },
  view: toResource,
})

export const revokeKey = defineOperation({
  name: "api_keys.revoke",
  summary: "Revoke a key: no node accepts it once this call returns.",
  http: { method: "POST", path: "/v1/api-keys/{id}/revoke" },
  access: { scope: "api_keys:write", role: "admin", closedToAgents: true, freshSignIn: true, whilePaused: true },
  hints: { readOnly: false, destructive: true, idempotent: true },
  mcp: { absent: "A person decides which keys end." },
  input: z.strictObject({ id: z.string().min(1).max(100).describe("UUID of the key, or the 16 characters after `mr_api_`.") }),
  output: ApiKey,
  errors: ["not_found", "permission_denied"],
  examples: [{ given: { key: "api_keys.create" }, input: { id: resultOf("key.id") } }],
  inject: { keys: ApiKeys },
  async handle({ input, caller, deps, work }) {
    const key = await deps.keys.get(caller.organization.id, input.id)
    if (!roleAtLeast(caller.role, key.role)) {
      throw new AppError(
        "permission_denied",
        `The key has the role ${key.role}; yours is ${caller.role}. Ask an ${key.role} to revoke it.`,
        {
          reason: "role_too_low",
        },
      )
    }
    return toResource(deps.keys.revoke(work, caller.organization.id, key))
  },
})

/** Refuses a key with a higher role or more scopes than its maker. */
function refuseMore(input: CreateInput, caller: Caller): void {
  if (!roleAtLeast(caller.role, input.role)) {
    throw new AppError("permission_denied", `role: a key has at most the caller's role; yours is ${caller.role}, not ${input.role}.`, {
      reason: "role_too_low",
    })
  }
  if (input.manager && caller.role !== "owner") {
    throw new AppError("permission_denied", `manager: only an owner can create manager keys; your role is ${caller.role}.`, {
      reason: "role_too_low",
    })
  }
  if (input.kind !== "agent" && callerKind(caller) === "agent") {
    const message = `kind: an agent can create only tokens of the kind "agent", not "${input.kind}".`
    throw new AppError("permission_denied", message, { reason: "closed_to_agents" })
  }
  const ownScopes = caller.scopes
  if (!ownScopes) return
  const beyond = input.scopes?.filter((scope) => !ownScopes.has(scope)) ?? []
  if (input.kind === "api_key" || beyond.length > 0) {
    const excess = input.kind === "api_key" ? "an API key, which has every scope" : beyond.join(", ")
    throw new AppError("permission_denied", `scopes: a token can create only tokens with its own scopes, not ${excess}.`, {
      reason: "missing_scope",
      scopes: [...ownScopes],
    })
  }
}

function refuseSenseless(input: CreateInput, now: number): void {
  const isToken = input.kind !== "api_key"
  if (isToken && !input.scopes) refuse({ path: "scopes", message: "a token needs at least one, such as datasets:read" })
  if (!isToken && input.scopes) refuse({ path: "scopes", message: 'only a token has scopes; set kind to "token" or "agent"' })
  if (isToken && input.manager) refuse({ path: "manager", message: "only an API key can be a manager key" })
  if (input.expires_at && Date.parse(input.expires_at) <= now)
    refuse({ path: "expires_at", message: `${input.expires_at} is in the past; give a future time` })
}

/** Refuses scopes of unknown areas. Otherwise the mistake would appear only when the token is refused. */
function refuseUnknown(scopes: readonly string[], declarations: Declarations): void {
  const areas = [...new Set(declarations.items(Operations).map(({ access }) => access.scope.replace(/:.*/, "")))].sort()
  const fields = scopes.flatMap((scope, index) => {
    const [area = "", verb] = scope.split(":")
    if (areas.includes(area) || scope === "live:subscribe" || scope === "mcp") return []
    const suggestion = nearest(area, areas)
    const hint = suggestion === undefined ? `areas are ${areas.join(", ")}` : `did you mean ${suggestion}:${verb}?`
    return [{ path: `scopes.${index}`, message: `the scope ${scope} does not exist; ${hint}` }]
  })
  if (fields.length > 0) refuse(...fields)
}

function refuse(...fields: FieldProblem[]): never {
  throw new AppError("invalid_argument", fields.map(({ path, message }) => `${path}: ${message}`).join("; "), {
    reason: "invalid_fields",
    fields,
  })
}

function toResource({
  key_id,
  hash: _hash,
  organization_id: _organization,
  signed_in_with: _parent,
  manager_id: _manager,
  origins: _origins,
  ...key
}: StoredKey): z.input<typeof ApiKey> {
  return { ...key, prefix: prefixOf(key.kind, key_id) }
}
