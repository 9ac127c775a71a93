// One question to an agent, through the organization's own connection, which holds its address and its secrets. The same
// question of the same run carries the same Idempotency-Key, so that a repeat after a crash can be recognized.
import { AppError, type Json } from "#core"
import type { Integrations } from "../../integrations/index.ts"
import { outcomeOf } from "../../outgoing-http/index.ts"
import type { StoredRun } from "./collections.ts"

export interface AgentAnswer {
  readonly output: string
  /** Slug or UUID of a page that it says it made. */
  readonly page?: string
  /** A document that it made. */
  readonly html?: string
  readonly costMillicents: number
}

export interface AgentQuestion {
  /** Of run, case and repeat. */
  readonly id: string
  readonly input: string
  readonly run: StoredRun
  readonly caseSlug: string
  readonly repeat: number
  readonly signal: AbortSignal
}

/** What is kept and judged of an answer, characters. */
const maxOutput = 20_000
/** Of one answer, millicents: 100,000 dollars. */
const maxCost = 1e10

/** Throws AppError: `unavailable` where a later try may do, others where the agent did not answer as its protocol says. */
export async function askAgent(integrations: Integrations, organization: string, question: AgentQuestion): Promise<AgentAnswer> {
  const { agent } = question.run
  const body = agent.protocol === "webhook" ? webhookBody(question) : chatBody(question)
  const request = { method: "POST", path: agent.path, body }
  const context = { idempotencyKey: question.id, signal: question.signal, timeoutMs: agent.timeout_ms }
  const response = await integrations.call(organization, agent.integration, request, context)
  outcomeOf(response)
  const answer = objectOf(response.json)
  if (answer === undefined) throw unusable(agent.key, "its answer is not a JSON object")
  return agent.protocol === "webhook" ? webhookAnswer(agent.key, answer) : chatAnswer(question.run, answer)
}

function webhookBody({ input, run, caseSlug, repeat }: AgentQuestion): Json {
  return { input, run_id: run.id, case: caseSlug, repeat }
}

function webhookAnswer(key: string, { output, page, html, cost_millicents }: Record<string, Json | undefined>): AgentAnswer {
  if (typeof output !== "string") throw unusable(key, 'its answer has no text "output"')
  return {
    output: output.slice(0, maxOutput).toWellFormed(),
    ...(typeof page === "string" && page !== "" ? { page } : {}),
    ...(typeof html === "string" && html !== "" ? { html } : {}),
    costMillicents: believed(cost_millicents),
  }
}

function chatBody({ input, run: { agent } }: AgentQuestion): Json {
  const system = agent.instructions === "" ? [] : [{ role: "system", content: agent.instructions }]
  return { model: agent.model, messages: [...system, { role: "user", content: input }] }
}

function chatAnswer({ agent: { key, prices } }: StoredRun, answer: Record<string, Json | undefined>): AgentAnswer {
  const [choice] = Array.isArray(answer["choices"]) ? answer["choices"] : []
  const message = objectOf(objectOf(choice)?.["message"])
  // A refusal is an answer, to be judged as one.
  const output = message?.["content"] ?? message?.["refusal"]
  if (typeof output !== "string") throw unusable(key, "its answer has no choices[0].message.content")
  const usage = objectOf(answer["usage"])
  const tokens = (name: string) => (typeof usage?.[name] === "number" ? usage[name] : 0)
  const cost = (tokens("prompt_tokens") * prices.input + tokens("completion_tokens") * prices.output) / 1_000_000
  return { output: output.slice(0, maxOutput).toWellFormed(), costMillicents: believed(cost) }
}

/** A cost that no answer has is not known: sums of such would not be numbers that can be stored. */
function believed(cost: Json | undefined): number {
  return typeof cost === "number" && cost > 0 && cost <= maxCost ? cost : 0
}

function unusable(key: string, problem: string): AppError {
  return new AppError("failed_precondition", `The agent "${key}" cannot be judged: ${problem}.`, {
    reason: "agent_unusable",
    retryable: false,
  })
}

function objectOf(value: Json | undefined): Record<string, Json | undefined> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined
}
