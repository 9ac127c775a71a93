// Agents of an organization: what is asked by runs, suites of evals and workstreams, and how each is reached.
import { AppError, type Document, defineCollection, isUuid, type Sealed, type Store } from "#core"

export const agentProtocols = ["chat_completions", "webhook", "model"] as const
export type AgentProtocol = (typeof agentProtocols)[number]

/** How an agent is reached: through a connection of the organization, which holds its address and credentials, or by a configured model. */
export interface StoredAgent extends Document {
  key: string
  name: string
  protocol: AgentProtocol
  /** Slug or UUID of a shared connection of the app `http`; empty where the protocol is `model`. */
  integration: string
  /** Below the connection's base. */
  path: string
  /** Of chat completions and of `model`: the model's name. */
  model: string
  /** Of chat completions and of `model`: the system message; empty: none. */
  instructions: string
  timeout_ms: number
  /** Millicents per million tokens, of chat completions. */
  prices: { input: number; output: number }
  /** Signs what is sent to a webhook, and what it sends back. */
  secret: Sealed
  revision: number
  created_at: string
  updated_at: string
}

/** What asking an agent takes; kept by records that outlive a change of the agent. */
export type AgentContact = Pick<
  StoredAgent,
  "id" | "key" | "protocol" | "integration" | "path" | "model" | "instructions" | "timeout_ms" | "prices" | "secret"
>

/** What an agent's secret is sealed with. */
export function agentSecretContext(agentId: string): string {
  return `agent ${agentId}`
}

export const AgentCollection = defineCollection<StoredAgent>()({
  name: "agents",
  scope: "organization",
  times: ["created_at", "updated_at"],
  indexes: [{ fields: ["key"], unique: true }],
  sealed: ({ id, secret }) => [{ path: "secret", sealed: secret, context: agentSecretContext(id) }],
})

/** By key or UUID. */
export function agentAt(store: Store, organization: string, keyOrId: string): Promise<StoredAgent | undefined> {
  const agents = store.open(AgentCollection, organization)
  return isUuid(keyOrId) ? agents.get(keyOrId) : agents.first({ key: keyOrId })
}

/** As `agentAt`; throws `not_found`. */
export async function requireAgent(store: Store, organization: string, keyOrId: string): Promise<StoredAgent> {
  const found = await agentAt(store, organization, keyOrId)
  if (found) return found
  throw new AppError("not_found", `The organization has no agent "${keyOrId}"; GET /v1/agents lists them.`, { reason: "agent_not_found" })
}

/** Its address and instructions as they are now. */
export function contactOf(agent: StoredAgent): AgentContact {
  const { id, key, protocol, integration, path, model, instructions, timeout_ms, prices, secret } = agent
  return { id, key, protocol, integration, path, model, instructions, timeout_ms, prices, secret }
}
