// The port for model calls of plugins, and the definition of each kind of call.
import { createHash } from "node:crypto"
import { z } from "zod"
import { AppError, defineJob, token } from "#core"
import { bytesPerToken, costOf, type Usage } from "./budget.ts"
import { type Answered, keptOrNew, usageOf } from "./calls.ts"
import { unusable } from "./failures.ts"
import { type Account, bookLostRef } from "./holds.ts"
import { embeddingModel, languageModel } from "./provider.ts"
import { type EmbeddingModelSettings, type LanguageModelSettings, type ModelSettings, type Purpose, purposes } from "./settings.ts"
import { type ModelsDeps, type Turn, type TurnTaken, takeTurn } from "./turn.ts"

/** Instructions for a model, with the version for records. The text may vary between calls, for example by persona. */
export interface Prompt {
  readonly name: string
  readonly version: number
  readonly text: string
}

export interface Question {
  readonly purpose: Purpose
  /** Name of a configured model, instead of the purpose's default. */
  readonly model?: string
  readonly prompt: Prompt
  /** The subject of the prompt, such as a page. Untrusted, and separate from the instructions. */
  readonly input: string
  /** PNG, JPEG or WebP. Left out for models without image input. */
  readonly images?: readonly Uint8Array[]
  /** Distinguishes repeated calls of the same question (a draw, a seat), so each gets its own answer. */
  readonly seat?: string
  /**
   * Id of this call and its repeats after a crash. A repeat replaces the earlier call in budgets. The first answer counts for all
   * repeats, regardless of their question. Absent: no repeats.
   */
  readonly callId?: string
  /** Default: 0. */
  readonly temperature?: number
  /** Default: 2,000. */
  readonly maxOutputTokens?: number
  /** Charged in addition to the organization's own budget. */
  readonly account?: Account
  readonly signal?: AbortSignal
}

export interface ModelInfo {
  readonly model: string
  readonly images: boolean
}

export interface EmbedOptions {
  readonly signal?: AbortSignal | undefined
  readonly kept?: false
}

/** The configured language models and the embedding model. All calls throw AppError with a `model_…` reason. */
export interface Models {
  /** Throws `failed_precondition`, reason `model_not_configured`, naming the setting. */
  language(purpose: Purpose, model?: string): ModelInfo
  embedding(): ModelInfo | undefined
  /** Returns the maximum cost of a call in millicents. */
  estimate(question: Question): number
  /** Throws `resource_exhausted`, reason `model_day_budget`, if fewer millicents remain today. */
  afford(organization: string, millicents: number): Promise<void>
  /** Books calls of this budget after their time limit. */
  bookLost(organization: string, budget: string): Promise<void>
  text(organization: string, question: Question): Promise<Answered<string>>
  /** Returns an answer validated against the schema. */
  object<T>(organization: string, question: Question & { readonly schema: z.ZodType<T> }): Promise<Answered<T>>
  /** Runs a turn of a conversation with tools. Turns are not stored. */
  turn(organization: string, turn: Turn): Promise<TurnTaken>
  /** Returns a vector for each text. `kept: false`: texts and vectors are not stored. */
  embed(organization: string, texts: readonly string[], options?: EmbedOptions): Promise<Answered<number[][]>>
}

export const Models = token<Models>("Models")

/** Upper bound, according to providers' figures for a picture of a page. */
const tokensPerImage = 3_000

export function createModels(deps: ModelsDeps): Models {
  const { settings } = deps
  return {
    language: (purpose, model) => infoOf(configured(settings, purpose, model)),
    embedding: () => (settings.embedding ? { model: settings.embedding.model, images: false } : undefined),
    estimate: (question) => estimateOf(configured(settings, question.purpose, question.model), question),
    afford: (organization, millicents) => deps.budget.check(organization, millicents),
    bookLost: (organization, budget) => deps.budget.bookLost(organization, budget),
    text: (organization, question) => ask<string>(deps, organization, question),
    object: (organization, question) => ask(deps, organization, question),
    turn: (organization, turn) => takeTurn(deps, organization, configured(settings, turn.purpose, turn.model), turn),
    embed: (organization, texts, options) => embed(deps, organization, texts, options),
  }
}

function configured(settings: ModelSettings, purpose: Purpose, name?: string): LanguageModelSettings {
  const model = settings[purpose] ?? settings.default
  if (name !== undefined && model?.model !== name) return modelSettings(settings, name)
  if (model) return model
  const setting = `plugins.settings.models.${purpose}`
  throw new AppError(
    "failed_precondition",
    `This needs a language model, and none is configured: set ${setting}, or plugins.settings.models.default.`,
    { reason: "model_not_configured", setting },
  )
}

function modelSettings(settings: ModelSettings, name: string): LanguageModelSettings {
  const models = [settings.default, ...purposes.map((purpose) => settings[purpose]), ...settings.others].flatMap((model) => model ?? [])
  const match = models.find(({ model }) => model === name)
  if (match) return match
  const names = [...new Set(models.map(({ model }) => model))].join(", ") || "none"
  const setting = "plugins.settings.models.others"
  const message = `The model ${JSON.stringify(name.slice(0, 200))} is not configured (configured: ${names}): name one of them, or add it to ${setting}.`
  throw new AppError("failed_precondition", message, { reason: "model_not_configured", setting })
}

function infoOf({ model, images }: LanguageModelSettings): ModelInfo {
  return { model, images }
}

function estimateOf(model: LanguageModelSettings, { prompt, input, images = [], maxOutputTokens = 2_000 }: Question): number {
  const tokens =
    (Buffer.byteLength(prompt.text) + Buffer.byteLength(input)) / bytesPerToken + (model.images ? images.length * tokensPerImage : 0)
  return costOf(model, { inputTokens: tokens, outputTokens: maxOutputTokens })
}

async function ask<T>(
  deps: ModelsDeps,
  organization: string,
  question: Question & { readonly schema?: z.ZodType<T> },
): Promise<Answered<T>> {
  const model = configured(deps.settings, question.purpose, question.model)
  const { prompt, input, images = [], seat = "", temperature = 0, maxOutputTokens = 2_000, schema, purpose } = question
  const madeBy = `${model.model}@${prompt.name}-v${prompt.version}`
  const pictures = model.images ? images : []
  const form = schema ? JSON.stringify(z.toJSONSchema(schema)) : ""
  const keyParts = [madeBy, prompt.text, form, seat, String(temperature), String(maxOutputTokens), input]
  const parts = question.callId === undefined ? [reachedAt(model), ...keyParts, ...pictures.map(digest)] : ["call", question.callId]
  const price = { model: model.model, estimate: estimateOf(model, question), costOf: (usage: Usage) => costOf(model, usage) }
  return keptOrNew(
    deps,
    { organization, parts, madeBy, purpose, ...price, callId: question.callId, account: question.account, signal: question.signal },
    async (signal) => {
      const { generateText, Output } = await import("ai")
      const result = await generateText({
        model: await languageModel(model, organization, deps),
        instructions: prompt.text,
        messages: [
          {
            role: "user",
            content: [{ type: "text", text: input }, ...pictures.map((data) => ({ type: "file" as const, mediaType: "image", data }))],
          },
        ],
        temperature,
        maxOutputTokens,
        maxRetries: deps.settings.max_retries,
        abortSignal: signal,
        ...(schema ? { output: Output.object({ schema }) } : {}),
      })
      const { finishReason, text } = result
      const paid = usageOf(result.usage)
      const isUnusable = finishReason === "content-filter" || (finishReason === "length" && schema !== undefined)
      if (isUnusable) return { paid, error: unusable(model.model, finishReason, text) }
      return { paid, value: (schema ? result.output : text) as T }
    },
  )
}

async function embed(
  deps: ModelsDeps,
  organization: string,
  texts: readonly string[],
  { signal, kept }: EmbedOptions = {},
): Promise<Answered<number[][]>> {
  const model = deps.settings.embedding
  if (!model) {
    const setting = "plugins.settings.models.embedding"
    throw new AppError("failed_precondition", `This needs an embedding model, and none is configured: set ${setting}.`, {
      reason: "model_not_configured",
      setting,
    })
  }
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  const estimate = costOf(model, { inputTokens: bytes / bytesPerToken, outputTokens: 0 })
  const parts = kept === false ? {} : { parts: [reachedAt(model), "embedding", model.model, ...texts] }
  const price = { model: model.model, estimate, costOf: (usage: Usage) => costOf(model, usage) }
  return keptOrNew(
    deps,
    { organization, ...parts, madeBy: model.model, purpose: "embedding", ...price, callId: undefined, account: undefined, signal },
    async (abortSignal) => {
      const { embedMany } = await import("ai")
      const { embeddings, usage } = await embedMany({
        model: await embeddingModel(model, organization, deps),
        values: [...texts],
        maxRetries: deps.settings.max_retries,
        abortSignal,
      })
      return {
        paid: usageOf({ inputTokens: Number.isNaN(usage.tokens) ? Math.ceil(bytes / 4) : usage.tokens, outputTokens: 0 }),
        value: embeddings,
      }
    },
  )
}

function reachedAt({ base_url, integration }: LanguageModelSettings | EmbeddingModelSettings): string {
  return integration === undefined ? (base_url ?? "") : `connection ${integration}`
}

function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex")
}

export const bookLostJob = defineJob(bookLostRef, {
  summary: "Books the estimates of model calls that a killed node took along.",
  inject: { models: Models },
  run: ({ payload, deps, organization = "" }) => deps.models.bookLost(organization, payload.budget),
})
