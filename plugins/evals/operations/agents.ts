// The agents that suites judge, and how each is reached.
import { z } from "zod"
import {
  AppError,
  Clock,
  defineOperation,
  Ids,
  isUuid,
  Name,
  Pager,
  pageInput,
  requireRevision,
  resultOf,
  SlugOrId,
  Store,
  timestamp,
  Uuid,
} from "#core"
import { Integrations } from "../../integrations/index.ts"
import { agentAt } from "../agents.ts"
import { AgentCollection, agentProtocols, type StoredAgent } from "../collections.ts"
import { AgentResource, ExpectedRevision, revised, shownAgent } from "./resource.ts"

const path = "/v1/evals/agents"
const byKey = { key: SlugOrId.describe("Key or UUID of the agent.") }
const madeAgent = { given: { agent: "evals.create_agent" }, input: { key: resultOf("agent.key") } }

const fields = {
  name: Name,
  protocol: z
    .enum(agentProtocols)
    .describe(
      "`chat_completions`: a POST with `messages`, as many model servers take it. `webhook`: a POST of `{ input, run_id, case, repeat }`, answered by `{ output, page?, html?, cost_millicents? }`.",
    ),
  integration: SlugOrId.describe("Slug or UUID of a shared connection of the app `http`, which holds the address and the secrets."),
  path: z
    .string()
    .max(1_000)
    .regex(
      /^\/(?:[A-Za-z0-9._~%:@!$&'()*+,;=-][A-Za-z0-9._~%:@!$&'()*+,;=/-]*)?$/,
      "a path that starts with one /, such as /chat/completions",
    )
    .describe("Below the connection's base."),
  model: z.string().trim().max(200).describe("Of chat completions: the model's name."),
  instructions: z.string().max(20_000).describe("Of chat completions: the system message; empty: none."),
  timeout_ms: z.int().min(1_000).max(300_000).describe("Of one answer."),
  prices: z
    .strictObject({ input: z.number().min(0).max(1e9), output: z.number().min(0).max(1e9) })
    .describe("Millicents (1/100,000 of a dollar) per million tokens, of chat completions; a webhook says what it cost."),
}

export const createAgent = defineOperation({
  name: "evals.create_agent",
  summary: "Name an agent that suites can judge, and say how it is reached.",
  http: { method: "POST", path },
  access: { scope: "evals:write", role: "admin" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    ...fields,
    key: z
      .string()
      .regex(/^[a-z0-9][a-z0-9_-]{0,99}$/, "lower-case letters, digits, - and _, such as front-desk")
      .refine((text) => !isUuid(text), "a key, not a UUID")
      .describe("What suites call it."),
    path: fields.path.default("/"),
    model: fields.model.default(""),
    instructions: fields.instructions.default(""),
    timeout_ms: fields.timeout_ms.default(60_000),
    prices: fields.prices.default({ input: 0, output: 0 }),
  }),
  output: AgentResource,
  errors: ["invalid_argument", "not_found", "already_exists"],
  examples: [
    {
      given: { connection: "integrations.connect" },
      input: { key: "front-desk", name: "Front desk", protocol: "webhook", integration: resultOf("connection.integration_id") },
    },
  ],
  inject: { store: Store, clock: Clock, ids: Ids, integrations: Integrations },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    await requireConnection(deps.integrations, organization, input.integration)
    if (await agentAt(deps.store, organization, input.key)) {
      throw new AppError("already_exists", `The organization has an agent "${input.key}" already; take another key.`, {
        reason: "slug_taken",
        fields: [{ path: "key", message: "taken" }],
      })
    }
    const at = timestamp(deps.clock.now())
    const agent: StoredAgent = { ...input, id: deps.ids.uuid(), revision: 1, created_at: at, updated_at: at }
    work.in(AgentCollection, organization).insert(agent)
    return shownAgent(agent)
  },
})

export const listAgents = defineOperation({
  name: "evals.list_agents",
  summary: "List the agents that suites can judge, newest first.",
  http: { method: "GET", path },
  access: { scope: "evals:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  columns: ["key", "name", "protocol", "integration", "path", "updated_at"],
  input: z.strictObject(pageInput),
  output: z.object({ agents: z.array(AgentResource), next_cursor: z.string() }),
  errors: ["invalid_argument"],
  inject: { store: Store, pager: Pager },
  async handle({ input, caller, deps }) {
    const organization = caller.organization.id
    const page = await deps.pager.page({
      collection: deps.store.open(AgentCollection, organization),
      organization,
      cursorScope: "evals.list_agents",
      filter: {},
      sort: { id: -1 },
      request: input,
    })
    return { agents: page.items.map(shownAgent), next_cursor: page.next_cursor }
  },
})

export const getAgent = defineOperation({
  name: "evals.get_agent",
  summary: "Read an agent that suites can judge.",
  http: { method: "GET", path: `${path}/{key}` },
  access: { scope: "evals:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject(byKey),
  output: AgentResource,
  errors: ["not_found"],
  examples: [madeAgent],
  inject: { store: Store },
  handle: async ({ input, caller, deps }) => shownAgent(await requireAgent(deps.store, caller.organization.id, input.key)),
})

export const updateAgent = defineOperation({
  name: "evals.update_agent",
  summary: "Change how an agent is reached; runs in progress keep how it was when they began.",
  http: { method: "PATCH", path: `${path}/{key}` },
  access: { scope: "evals:write", role: "admin" },
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
    if (given.integration !== undefined) await requireConnection(deps.integrations, organization, given.integration)
    const changed = revised(agent, given, deps.clock.now())
    if (changed === undefined) return shownAgent(agent)
    work.in(AgentCollection, organization).update(agent.id, { $set: changed }, { where: { revision: agent.revision } })
    return shownAgent({ ...agent, ...changed })
  },
})

export const deleteAgent = defineOperation({
  name: "evals.delete_agent",
  summary: "Remove an agent; suites that name it cannot run until they name another.",
  http: { method: "DELETE", path: `${path}/{key}` },
  access: { scope: "evals:write", role: "admin" },
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

async function requireAgent(store: Store, organization: string, key: string): Promise<StoredAgent> {
  const found = await agentAt(store, organization, key)
  if (found) return found
  throw new AppError("not_found", `The organization has no agent "${key}"; GET /v1/evals/agents lists them.`, { reason: "agent_not_found" })
}

async function requireConnection(integrations: Integrations, organization: string, ref: string): Promise<void> {
  if (await integrations.find(organization, ref)) return
  const message = `integration: no connection "${ref}" is shared with the organization; POST /v1/integrations-connect with share_with_org makes one.`
  throw new AppError("not_found", message, { reason: "agent_connection_missing" })
}
