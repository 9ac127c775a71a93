// Agents of an organization, and their addresses. Runs, evals and workstreams call agents.
import { z } from "zod"
import {
  AppError,
  Clock,
  defineOperation,
  defineResource,
  givenKey,
  type ItemOf,
  isUuid,
  Name,
  resultOf,
  type Sealed,
  Store,
  stageRevision,
  Vault,
} from "#core"
import { Integrations } from "../../integrations/index.ts"
import { generateAgentSecret } from "./signature.ts"

export const agentProtocols = ["chat_completions", "webhook", "model"] as const
export type AgentProtocol = (typeof agentProtocols)[number]

/** Returns the vault context of an agent's secret. */
export function agentSecretContext(agentId: string): string {
  return `agent ${agentId}`
}

const path = "/v1/agents"
const writing = { scope: "agents:write", role: "admin" } as const
const secret = { secret: z.string().describe("Signs requests to a webhook, and its callbacks; shown once.") }

export const Agents = defineResource<{ secret: Sealed }>()({
  name: "agent",
  plural: "agents",
  title: "Agent",
  path,
  collection: {
    name: "agents",
    sealed: ({ id, secret: sealed }: { id: string; secret: Sealed }) => [{ path: "secret", sealed, context: agentSecretContext(id) }],
  },
  access: { read: { scope: "agents:read", role: "member" }, write: writing },
  key: givenKey(
    "key",
    z
      .string()
      .regex(/^[a-z0-9][a-z0-9_-]{0,99}$/, "lower-case letters, digits, - and _, such as front-desk")
      .refine((text) => !isUuid(text), "a key, not a UUID")
      .describe("Name of the agent in calls."),
  ),
  fields: {
    name: Name,
    protocol: z
      .enum(agentProtocols)
      .describe(
        "`chat_completions`: a POST with `messages` to a model server. `webhook`: a signed POST. Its answer is `{ output, summary?, result_kind?, handles?, page?, html?, cost_millicents? }`; in an agent run 202 and a later signed call to `callback_url` also work. `model`: a model of the service (plugins.settings.models).",
      ),
    integration: z
      .string()
      .max(100)
      .toLowerCase()
      .describe("Slug or UUID of a shared connection of the app `http`, which holds the address and the credentials; empty for `model`."),
    path: z
      .string()
      .max(1_000)
      .regex(/^\/(?:[A-Za-z0-9._~%:@!$&'()*+,;=-][A-Za-z0-9._~%:@!$&'()*+,;=/-]*)?$/, "a path with one / at its start: /chat/completions")
      .describe("Below the connection's base."),
    model: z
      .string()
      .trim()
      .max(200)
      .describe("Of chat completions: the model's name. Of `model`: a configured model; empty: the one for agents."),
    instructions: z.string().max(20_000).describe("Of chat completions and `model`: the system message; empty: none."),
    timeout_ms: z.int().min(1_000).max(300_000).describe("Of one answer."),
    prices: z
      .strictObject({ input: z.number().min(0).max(1e9), output: z.number().min(0).max(1e9) })
      .describe("Millicents (1/100,000 of a dollar) per million tokens, of chat completions; a webhook reports its cost itself."),
  },
  hidden: ["secret"],
  defaults: { integration: "", path: "/", model: "", instructions: "", timeout_ms: 60_000, prices: { input: 0, output: 0 } },
  columns: ["key", "name", "protocol", "integration", "path", "updated_at"],
  examples: [
    { input: { key: "front-desk", name: "Front desk", protocol: "model", instructions: "You answer at the front desk." } },
    {
      title: "Behind a connection",
      given: { connection: "integrations.connect" },
      input: { key: "writer", name: "Writer", protocol: "webhook", integration: resultOf("connection.integration_id") },
    },
  ],
  change: { timeout_ms: 30_000 },
  verbs: {
    create: {
      summary: "Create an agent for runs, evals and workstreams. The answer shows its signing secret once.",
      errors: ["not_found"],
    },
    update: { summary: "Change an agent. Runs of evals in progress keep its former version." },
    delete: { summary: "Delete an agent. Runs and suites that name it fail until they name another." },
  },
  inject: { integrations: Integrations, vault: Vault },
  check: ({ protocol, integration }, { change, organization, deps }) =>
    change.integration === undefined && change.protocol === undefined
      ? undefined
      : requireWay(deps.integrations, organization, { protocol, integration }),
  start: ({ id }, { deps }) => ({ secret: { ...deps.vault.seal(generateAgentSecret(), agentSecretContext(id)) } }),
  once: { fields: secret, read: (agent, { vault }) => ({ secret: vault.open(agent.secret, agentSecretContext(agent.id)) }) },
})

export type StoredAgent = ItemOf<typeof Agents>

export const rotateAgentSecret = defineOperation({
  name: "agents.rotate_secret",
  summary: "Give an agent a new signing secret, shown once; the old one ends at once.",
  http: { method: "POST", path: `${path}/{key}/rotate-secret` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: false },
  input: z.strictObject({ key: Agents.ref }),
  output: Agents.answer.extend(secret),
  errors: ["not_found", "aborted"],
  secretOutput: ["secret"],
  examples: [{ given: { agent: "agents.create" }, input: { key: resultOf("agent.key") } }],
  inject: { store: Store, clock: Clock, vault: Vault },
  async handle({ input: { key }, caller, deps, work }) {
    const organization = caller.organization.id
    const agent = await Agents.items.require(deps.store, organization, key)
    const text = generateAgentSecret()
    const sealed = deps.vault.seal(text, agentSecretContext(agent.id))
    const changed = stageRevision(work.in(Agents.collection, organization), agent, { secret: { ...sealed } }, deps.clock.now())
    return { ...Agents.show(changed), secret: text }
  },
})

/** The data of a call to an agent. Records preserve it when the agent changes. */
export type AgentContact = Pick<
  StoredAgent,
  "id" | "key" | "protocol" | "integration" | "path" | "model" | "instructions" | "timeout_ms" | "prices" | "secret"
>

/** Returns the agent's current address and instructions. */
export function contactOf(agent: StoredAgent): AgentContact {
  const { id, key, protocol, integration, path: at, model, instructions, timeout_ms, prices, secret: sealed } = agent
  return { id, key, protocol, integration, path: at, model, instructions, timeout_ms, prices, secret: sealed }
}

/** Throws if the connection does not fit the protocol, or is not shared with the organization. */
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
