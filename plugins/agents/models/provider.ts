// Models of the package `ai`, by the OpenAI or Anthropic protocol. They are at an address configured by the operator, or behind a
// connection of the organization. This file never sees the connection's credentials.
import type { EmbeddingModel, LanguageModel } from "ai"
import type { Json } from "#core"
import type { OutgoingCapture } from "#core/engine"
import type { Integrations } from "../integrations/index.ts"
import { type EmbeddingModelSettings, type LanguageModelSettings, type ModelSettings, purposes } from "./settings.ts"

/** A provider's answer is a few pages of text, or the numbers of a few hundred vectors. */
const maxAnswerBytes = 32 * 1_048_576

export interface ProviderDeps {
  readonly integrations: Integrations
  /** Set in rehearsals. No request is sent. */
  readonly capture: OutgoingCapture | undefined
}

type Configured = LanguageModelSettings | EmbeddingModelSettings

/** Imports the libraries of the configured models. A service without models imports no library. */
export async function importLibraries({ embedding, others, ...settings }: ModelSettings): Promise<void> {
  const models = [settings.default, ...purposes.map((purpose) => settings[purpose]), ...others, embedding].flatMap((model) => model ?? [])
  if (models.length === 0) return
  await import("ai")
  if (models.some(({ protocol }) => protocol === "anthropic")) await import("@ai-sdk/anthropic")
  if (models.some(({ protocol }) => protocol === "openai")) await import("@ai-sdk/openai-compatible")
}

export async function languageModel(settings: LanguageModelSettings, organization: string, deps: ProviderDeps): Promise<LanguageModel> {
  const options = connection(settings, organization, deps)
  if (settings.protocol === "anthropic") {
    const { createAnthropic } = await import("@ai-sdk/anthropic")
    return createAnthropic({ ...options, apiKey: options.apiKey ?? "none" })(settings.model)
  }
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible")
  return createOpenAICompatible({ ...options, name: "models", supportsStructuredOutputs: settings.structured }).chatModel(settings.model)
}

export async function embeddingModel(settings: EmbeddingModelSettings, organization: string, deps: ProviderDeps): Promise<EmbeddingModel> {
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible")
  return createOpenAICompatible({ ...connection(settings, organization, deps), name: "models" }).embeddingModel(settings.model)
}

function connection({ base_url = "", api_key, integration }: Configured, organization: string, { integrations, capture }: ProviderDeps) {
  if (integration !== undefined) {
    return { baseURL: placeholder, fetch: throughConnection(integrations, organization, integration) as typeof fetch }
  }
  return {
    baseURL: base_url.replace(/\/$/, ""),
    fetch: (capture ? captured(capture) : bounded) as typeof fetch,
    ...(api_key === undefined ? {} : { apiKey: api_key }),
  }
}

/** Unused address: the connection has its own. */
const placeholder = "https://connection.invalid"

/**
 * Fetches from the operator's own address, including addresses of this machine. Without redirects, and with a limit of the
 * answer's size.
 */
async function bounded(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, { ...init, redirect: "error" })
  if (response.body === null) return response
  let remaining = maxAnswerBytes
  const counted = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        remaining -= chunk.byteLength
        if (remaining < 0) controller.error(new Error(`The model's provider answered with more than ${maxAnswerBytes} bytes.`))
        else controller.enqueue(chunk)
      },
    }),
  )
  return new Response(counted, { status: response.status, headers: response.headers })
}

function captured(capture: OutgoingCapture) {
  return async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const headers = Object.fromEntries(new Headers(init.headers))
    const call = { method: init.method ?? "POST", url: String(input), headers, body: String(init.body) }
    const { status, headers: answered, body } = await capture.call(call, init.signal ?? undefined)
    return new Response(body, { status, headers: { "content-type": "application/json", ...answered } })
  }
}

function throughConnection(integrations: Integrations, organization: string, ref: string) {
  return async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const { pathname } = new URL(String(input))
    const body = JSON.parse(String(init.body)) as Json
    const request = { method: init.method ?? "POST", path: pathname, body }
    const { status, headers, text } = await integrations.call(organization, ref, request, init.signal ? { signal: init.signal } : {})
    return new Response(text, {
      status,
      headers: { "content-type": headers["content-type"] ?? "application/json", ...retryAfter(headers) },
    })
  }
}

function retryAfter(headers: Readonly<Record<string, string>>): Record<string, string> {
  const wait = headers["retry-after"]
  return wait === undefined ? {} : { "retry-after": wait }
}
