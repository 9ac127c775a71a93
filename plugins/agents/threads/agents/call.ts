// Asks an agent a question: through the organization's own connection with its address and credentials, or through a configured
// model. The same question has the same Idempotency-Key, so the agent can recognize a repeat after a crash.
import { AppError, Clock, type Deps, isRecord, type Json, token, Vault } from "#core"
import { outcomeOf } from "../../../platform/outgoing-http/index.ts"
import { Integrations } from "../../integrations/index.ts"
import { type Account, Models } from "../../models/index.ts"
import { type AgentContact, agentSecretContext } from "./agents.ts"
import { signedHeaders } from "./signature.ts"

export interface AgentTurn {
  readonly role: "user" | "assistant"
  readonly content: string
}

export interface AgentQuestion {
  /** Unique to the question, and the same for its repeats. */
  readonly id: string
  readonly agent: AgentContact
  /** Request body for a webhook. */
  readonly body: { readonly [field: string]: Json }
  /** Messages for agents with a chat protocol. The last message is the question. */
  readonly turns: readonly AgentTurn[]
  readonly signal: AbortSignal
  /** True if the agent may answer by a later callback. */
  readonly mayCallBack?: boolean
  /** Charged for calls of configured models. */
  readonly account?: Account
}

/** A record created or changed by an agent, in another system or in this service. */
export interface ResultHandle {
  readonly resource_type: string
  readonly resource_id: string
  readonly revision_ref: string
}

export interface AgentAnswer {
  readonly output: string
  /** Slug or UUID of a page created by the agent, according to the agent. */
  readonly page?: string
  /** An HTML document created by the agent. */
  readonly html?: string
  readonly summary: string
  readonly resultKind: string
  readonly handles: readonly ResultHandle[]
  /** Cost reported by the agent, or computed by its prices. Calls of configured models are charged separately. */
  readonly costMillicents: number
  readonly charged: boolean
}

export interface AskAgents {
  /**
   * `accepted`: the agent will call back. Throws AppError: `unavailable` if a retry may succeed, other codes if the answer
   * violates the protocol.
   */
  ask(organization: string, question: AgentQuestion): Promise<AgentAnswer | "accepted">
}

export const AskAgents = token<AskAgents>("AskAgents")

export const askAgentsNeeds = { integrations: Integrations, models: Models, vault: Vault, clock: Clock }

type AskDeps = Deps<typeof askAgentsNeeds>

/** Limit of stored output, characters. */
const maxOutput = 20_000
const maxSummary = 2_000
const maxHandles = 50
/** Limit per answer, millicents: 100,000 dollars. */
const maxCost = 1e10

export function createAskAgents(deps: AskDeps): AskAgents {
  return {
    ask: (organization, question) => {
      if (question.agent.protocol === "model") return askModel(deps, organization, question)
      return question.agent.protocol === "webhook" ? askWebhook(deps, organization, question) : askChat(deps, organization, question)
    },
  }
}

async function askModel({ models }: AskDeps, organization: string, { id, agent, turns, signal, account }: AgentQuestion) {
  const input = turns.length === 1 ? (turns[0]?.content ?? "") : turns.map(({ role, content }) => `${role}: ${content}`).join("\n\n")
  const { value, paidMillicents } = await models.text(organization, {
    purpose: "agent",
    ...(agent.model === "" ? {} : { model: agent.model }),
    prompt: { name: `agent-${agent.key}`, version: 1, text: agent.instructions },
    input,
    callId: id,
    signal,
    ...(account ? { account } : {}),
  })
  return { ...plain(value), costMillicents: paidMillicents, charged: true }
}

async function askWebhook(deps: AskDeps, organization: string, question: AgentQuestion): Promise<AgentAnswer | "accepted"> {
  const { agent, body, mayCallBack } = question
  const secret = deps.vault.open(agent.secret, agentSecretContext(agent.id))
  const headers = signedHeaders(secret, JSON.stringify(body), deps.clock.now())
  const response = await sent(deps, organization, question, body, headers)
  if (mayCallBack && response.status === 202) return "accepted"
  const answer = objectOf(response.json)
  if (answer === undefined) throw unusable(agent.key, "its answer is not a JSON object")
  return webhookAnswer(agent.key, answer)
}

async function askChat(deps: AskDeps, organization: string, question: AgentQuestion): Promise<AgentAnswer> {
  const { agent, turns } = question
  const system = agent.instructions === "" ? [] : [{ role: "system", content: agent.instructions }]
  const messages = [...system, ...turns.map(({ role, content }) => ({ role, content }))]
  const response = await sent(deps, organization, question, { model: agent.model, messages })
  const answer = objectOf(response.json)
  if (answer === undefined) throw unusable(agent.key, "its answer is not a JSON object")
  return chatAnswer(agent, answer)
}

async function sent(
  { integrations }: AskDeps,
  organization: string,
  { id, agent, signal }: AgentQuestion,
  body: Json,
  headers: Readonly<Record<string, string>> = {},
) {
  const request = { method: "POST", path: agent.path, body, headers }
  const context = { idempotencyKey: id, signal, timeoutMs: agent.timeout_ms }
  const response = await integrations.call(organization, agent.integration, request, context)
  outcomeOf(response)
  return response
}

/** Parses an agent's answer, from its webhook response or its callback. Throws if the answer is malformed. */
export function webhookAnswer(key: string, answer: { readonly [field: string]: Json | undefined }): AgentAnswer {
  const { output, page, html, summary, result_kind, handles, cost_millicents } = answer
  if (typeof output !== "string") throw unusable(key, 'its answer has no text "output"')
  return {
    ...plain(output),
    ...(typeof page === "string" && page !== "" ? { page } : {}),
    ...(typeof html === "string" && html !== "" ? { html } : {}),
    ...(typeof summary === "string" ? { summary: cut(summary, maxSummary) } : {}),
    resultKind: typeof result_kind === "string" ? cut(result_kind, 100) : "",
    handles: (Array.isArray(handles) ? handles : []).flatMap(handleOf).slice(0, maxHandles),
    costMillicents: believed(cost_millicents),
  }
}

function chatAnswer({ key, prices }: AgentContact, answer: { readonly [field: string]: Json | undefined }): AgentAnswer {
  const [choice] = Array.isArray(answer["choices"]) ? answer["choices"] : []
  const message = objectOf(objectOf(choice)?.["message"])
  // A refusal counts as an answer and is judged like one.
  const output = message?.["content"] ?? message?.["refusal"]
  if (typeof output !== "string") throw unusable(key, "its answer has no choices[0].message.content")
  const usage = objectOf(answer["usage"])
  const tokens = (name: string) => (typeof usage?.[name] === "number" ? usage[name] : 0)
  const cost = (tokens("prompt_tokens") * prices.input + tokens("completion_tokens") * prices.output) / 1_000_000
  return { ...plain(output), costMillicents: believed(cost) }
}

function plain(text: string): AgentAnswer {
  const output = cut(text, maxOutput)
  return { output, summary: cut(output, maxSummary), resultKind: "", handles: [], costMillicents: 0, charged: false }
}

function handleOf(value: Json): ResultHandle[] {
  const { resource_type: type, resource_id: id, revision_ref: revision = "" } = objectOf(value) ?? {}
  if (typeof type !== "string" || typeof id !== "string" || typeof revision !== "string") return []
  return [{ resource_type: cut(type, 100), resource_id: cut(id, 500), revision_ref: cut(revision, 500) }]
}

/** Treats an impossible cost as unknown (0). Sums with it would not be storable numbers. */
function believed(cost: Json | undefined): number {
  return typeof cost === "number" && cost > 0 && cost <= maxCost ? cost : 0
}

function cut(text: string, characters: number): string {
  return text.slice(0, characters).toWellFormed()
}

function unusable(key: string, problem: string): AppError {
  return new AppError("failed_precondition", `The agent "${key}" cannot be used: ${problem}.`, {
    reason: "agent_unusable",
    retryable: false,
  })
}

function objectOf(value: Json | undefined): { readonly [field: string]: Json | undefined } | undefined {
  return isRecord(value) ? value : undefined
}
