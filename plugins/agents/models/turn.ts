// A conversation with tool calls. Each turn is a separate call, with the usual cost and limits. The caller runs the tools and
// passes their answers to the next turn.
import type { ModelMessage, ToolSet } from "ai"
import type { Json } from "#core"
import { bytesPerToken, costOf, type Usage } from "./budget.ts"
import { type CallDeps, keptOrNew, usageOf } from "./calls.ts"
import { unusable } from "./failures.ts"
import type { Question } from "./models.ts"
import { languageModel, type ProviderDeps } from "./provider.ts"
import type { LanguageModelSettings } from "./settings.ts"

export interface ModelsDeps extends CallDeps, ProviderDeps {}

export interface ModelTool {
  readonly name: string
  readonly description: string
  /** JSON Schema of an object. */
  readonly input: Readonly<Record<string, unknown>>
}

/** The model's tool call. Not validated against the tool's schema. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly input: Json
}

/** An earlier turn: the model's text, its tool calls, and their answers. */
export interface PastTurn {
  readonly text: string
  readonly calls: readonly (ToolCall & { readonly answer: string })[]
}

export interface Turn extends Omit<Question, "images" | "seat" | "callId"> {
  readonly tools: readonly ModelTool[]
  readonly past: readonly PastTurn[]
}

export interface TurnTaken {
  readonly text: string
  /** Empty: the text is the answer. */
  readonly calls: readonly ToolCall[]
  readonly madeBy: string
  readonly costMillicents: number
}

export async function takeTurn(deps: ModelsDeps, organization: string, model: LanguageModelSettings, turn: Turn): Promise<TurnTaken> {
  const { prompt, input, tools, past, temperature = 0, maxOutputTokens = 2_000, purpose, account, signal } = turn
  const madeBy = `${model.model}@${prompt.name}-v${prompt.version}`
  const bytes = Buffer.byteLength(JSON.stringify([prompt.text, input, tools, past]))
  const estimate = costOf(model, { inputTokens: bytes / bytesPerToken, outputTokens: maxOutputTokens })
  const call = { organization, madeBy, purpose, model: model.model, estimate, costOf: (usage: Usage) => costOf(model, usage) }
  const answered = await keptOrNew(deps, { ...call, callId: undefined, account, signal }, async (abortSignal) => {
    const { generateText, jsonSchema } = await import("ai")
    const offered: ToolSet = Object.fromEntries(
      tools.map(({ name, description, input: schema }) => [name, { description, inputSchema: jsonSchema(schema) }]),
    )
    const { usage, finishReason, text, toolCalls } = await generateText({
      model: await languageModel(model, organization, deps),
      instructions: prompt.text,
      messages: [{ role: "user", content: input }, ...past.flatMap(messagesOf)],
      tools: offered,
      temperature,
      maxOutputTokens,
      maxRetries: deps.settings.max_retries,
      abortSignal,
    })
    const paid = usageOf(usage)
    if (finishReason === "content-filter" || finishReason === "length") return { paid, error: unusable(model.model, finishReason, text) }
    const calls = toolCalls.map(({ toolCallId, toolName, input: toolInput }) => ({
      id: toolCallId,
      name: toolName,
      input: toolInput as Json,
    }))
    return { paid, value: { text, calls } }
  })
  return { ...answered.value, madeBy, costMillicents: answered.costMillicents }
}

function messagesOf({ text, calls }: PastTurn): ModelMessage[] {
  const textParts = text === "" ? [] : [{ type: "text" as const, text }]
  const toolCalls = calls.map(({ id, name, input }) => ({ type: "tool-call" as const, toolCallId: id, toolName: name, input }))
  const answers = calls.map(({ id, name, answer }) => ({
    type: "tool-result" as const,
    toolCallId: id,
    toolName: name,
    output: { type: "text" as const, value: answer },
  }))
  return [
    { role: "assistant", content: [...textParts, ...toolCalls] },
    { role: "tool", content: answers },
  ]
}
