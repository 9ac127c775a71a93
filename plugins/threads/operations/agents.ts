// Agents, and how each is reached.
import { z } from "zod"
import {
  AppError,
  Clock,
  defineList,
  defineOperation,
  Ids,
  isUuid,
  Name,
  requireRevision,
  resultOf,
  SlugOrId,
  Store,
  slugTaken,
  stageRevision,
  timestamp,
  Uuid,
  Vault,
} from "#core"
import { Integrations } from "../../integrations/index.ts"
import {
  AgentCollection,
  type AgentProtocol,
  agentAt,
  agentProtocols,
  agentSecretContext,
  requireAgent,
  type StoredAgent,
} from "../agents/collection.ts"
import { generateAgentSecret } from "../agents/signature.ts"
import { AgentResource, ExpectedRevision, shownAgent } from "./resource.ts"

const path = "/v1/agents"
const reading = { scope: "agents:read", role: "member" } as const
const writing = { scope: "agents:write", role: "admin" } as const
const byKey = { key: SlugOrId.describe("Key or UUID of the agent.") }
const madeAgent = { given: { agent: "agents.create" }, input: { key: resultOf("agent.key") } }

const Secret = z.string().describe("Signs what a webhook is sent and what it calls back with; shown once.")

const fields = {
  name: Name,
  protocol: z
    .enum(agentProtocols)
    .describe(
      "`chat_completions`: a POST with `messages`, as many model servers take it. `webhook`: a signed POST, answered by `{ output, summary?, result_kind?, handles?, page?, html?, cost_millicents? }`, in an agent run also by 202 and a signed call to `callback_url` later. `model`: a model that the service has (plugins.settings.models).",
    ),
  integration: z
    .string()
    .max(100)
    .toLowerCase()
    .describe("Slug or UUID of a shared connection of the app `http`, which holds the address and the credentials; empty for `model`."),
  path: z
    .string()
    .max(1_000)
    .regex(
      /^\/(?:[A-Za-z0-9._~%:@!$&'()*+,;=-][A-Za-z0-9._~%:@!$&'()*+,;=/-]*)?$/,
      "a path that starts with one /, such as /chat/completions",
    )
    .describe("Below the connection's base."),
  model: z
    .string()
    .trim()
    .max(200)
    .describe("Of chat completions: the model's name. Of `model`: one of the configured ones; empty: the one for agents."),
  instructions: z.string().max(20_000).describe("Of chat completions and `model`: the system message; empty: none."),
  timeout_ms: z.int().min(1_000).max(300_000).describe("Of one answer."),
  prices: z
    .strictObject({ input: z.number().min(0).max(1e9), output: z.number().min(0).max(1e9) })
    .describe("Millicents (1/100,000 of a dollar) per million tokens, of chat completions; a webhook says what it cost."),
}

export const createAgent = defineOperation({
  name: "agents.create",
  summary: "Name an agent that runs, evals and workstreams can use, and say how it is reached; its signing secret is shown once.",
  http: { method: "POST", path },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    ...fields,
    key: z
      .string()
      .regex(/^[a-z0-9][a-z0-9_-]{0,99}$/, "lower-case letters, digits, - and _, such as front-desk")
      .refine((text) => !isUuid(text), "a key, not a UUID")
      .describe("What others call it."),
    integration: fields.integration.default(""),
    path: fields.path.default("/"),
    model: fields.model.default(""),
    instructions: fields.instructions.default(""),
    timeout_ms: fields.timeout_ms.default(60_000),
    prices: fields.prices.default({ input: 0, output: 0 }),
  }),
  output: AgentResource.extend({ secret: Secret }),
  errors: ["invalid_argument", "not_found", "already_exists"],
  secretOutput: ["secret"],
  examples: [
    { input: { key: "front-desk", name: "Front desk", protocol: "model", instructions: "You answer at the front desk." } },
    {
      title: "Behind a connection",
      given: { connection: "integrations.connect" },
      input: { key: "writer", name: "Writer", protocol: "webhook", integration: resultOf("connection.integration_id") },
    },
  ],
  inject: { store: Store, clock: Clock, ids: Ids, integrations: Integrations, vault: Vault },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    await requireWay(deps.integrations, organization, input)
    if (await agentAt(deps.store, organization, input.key))
      throw slugTaken(`The organization has an agent "${input.key}" already; take another key.`, "key")
    const at = timestamp(deps.clock.now())
    const [id, text] = [deps.ids.uuid(), generateAgentSecret()]
    const secret = deps.vault.seal(text, agentSecretContext(id))
    const agent: StoredAgent = { ...input, id, secret, revision: 1, created_at: at, updated_at: at }
    work.in(AgentCollection, organization).insert(agent)
    return { ...shownAgent(agent), secret: text }
  },
})

export const listAgents = defineList({
  name: "agents.list",
  summary: "List the agents, newest first.",
  path,
  access: reading,
  columns: ["key", "name", "protocol", "integration", "path", "updated_at"],
  collection: AgentCollection,
  items: { agents: AgentResource },
  view: shownAgent,
})

export const getAgent = defineOperation({
  name: "agents.get",
  summary: "Read an agent.",
  http: { method: "GET", path: `${path}/{key}` },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject(byKey),
  output: AgentResource,
  errors: ["not_found"],
  examples: [madeAgent],
  inject: { store: Store },
  handle: async ({ input, caller, deps }) => shownAgent(await requireAgent(deps.store, caller.organization.id, input.key)),
})

export const updateAgent = defineOperation({
  name: "agents.update",
  summary: "Change how an agent is reached; runs of evals in progress keep how it was when they began.",
  http: { method: "PATCH", path: `${path}/{key}` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    ...byKey,
    name: fields.name.optional(),
    protocol: fields.protocol.optional(),
    integration: fields.integration.optional(),
    path: fields.path.optional(),
    model: fields.model.optional(),
    instructions: fields.instructions.optional(),
    timeout_ms: fields.timeout_ms.optional(),
    prices: fields.prices.optional(),
    expected_revision: ExpectedRevision,
  }),
  output: AgentResource,
  errors: ["invalid_argument", "not_found", "aborted"],
  examples: [{ ...madeAgent, input: { ...madeAgent.input, timeout_ms: 30_000, expected_revision: resultOf("agent.revision") } }],
  inject: { store: Store, clock: Clock, integrations: Integrations },
  async handle({ input: { key, expected_revision, ...given }, caller, deps, work }) {
    const organization = caller.organization.id
    const agent = await requireAgent(deps.store, organization, key)
    requireRevision("agent", agent.revision, expected_revision)
    if (given.integration !== undefined || given.protocol !== undefined)
      await requireWay(deps.integrations, organization, { protocol: agent.protocol, integration: agent.integration, ...defined(given) })
    return shownAgent(stageRevision(work.in(AgentCollection, organization), agent, given, deps.clock.now()))
  },
})

export const deleteAgent = defineOperation({
  name: "agents.delete",
  summary: "Remove an agent; what names it cannot run until it names another.",
  http: { method: "DELETE", path: `${path}/{key}` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject(byKey),
  output: z.object({ id: Uuid, deleted: z.literal(true) }),
  errors: ["not_found"],
  examples: [madeAgent],
  inject: { store: Store },
  async handle({ input, caller, deps, work }) {
    const { id } = await requireAgent(deps.store, caller.organization.id, input.key)
    work.in(AgentCollection, caller.organization.id).remove(id, { optional: true })
    return { id, deleted: true as const }
  },
})

export const rotateAgentSecret = defineOperation({
  name: "agents.rotate_secret",
  summary: "Give an agent a new signing secret, shown once; the old one ends at once.",
  http: { method: "POST", path: `${path}/{key}/rotate-secret` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: false },
  input: z.strictObject(byKey),
  output: AgentResource.extend({ secret: Secret }),
  errors: ["not_found", "aborted"],
  secretOutput: ["secret"],
  examples: [madeAgent],
  inject: { store: Store, clock: Clock, vault: Vault },
  async handle({ input: { key }, caller, deps, work }) {
    const organization = caller.organization.id
    const agent = await requireAgent(deps.store, organization, key)
    const text = generateAgentSecret()
    const sealed = deps.vault.seal(text, agentSecretContext(agent.id))
    const changed = stageRevision(work.in(AgentCollection, organization), agent, { secret: { ...sealed } }, deps.clock.now())
    return { ...shownAgent(changed), secret: text }
  },
})

function defined<T extends object>(given: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}

/** Throws where the agent could not be reached so. */
async function requireWay(
  integrations: Integrations,
  organization: string,
  { protocol, integration }: { protocol: AgentProtocol; integration: string },
): Promise<void> {
  if ((protocol === "model") !== (integration === "")) {
    const message =
      protocol === "model" ? "is not for an agent whose protocol is `model`; leave it empty" : "names the connection that reaches the agent"
    throw new AppError("invalid_argument", `integration: ${message}.`, {
      reason: "invalid_fields",
      fields: [{ path: "integration", message }],
    })
  }
  if (protocol === "model" || (await integrations.find(organization, integration))) return
  const message = `integration: no connection "${integration}" is shared with the organization; POST /v1/integrations-connect with share_with_org makes one.`
  throw new AppError("not_found", message, { reason: "agent_connection_missing" })
}
