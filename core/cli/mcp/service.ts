// The service side of `millrace mcp`: one POST for each message, with responses as JSON or as an event stream. Missing responses
// become errors.
import { errorOf } from "../../client/answer.ts"
import { ClientError } from "../../client/error.ts"
import { defaultRetries, delayBeforeNext, pause } from "../../client/retry.ts"
import type { Target } from "../profiles.ts"
import { answersTo, headersOf, type Message, messagesOf, type OneMessage, requestIdsOf } from "./message.ts"

/** Reason for a missing response, as a JSON-RPC error. */
export interface Refusal {
  readonly code: number
  readonly text: string
  /** The service's own error. */
  readonly data: unknown
}

/** A message and its original line. The line is sent unchanged. */
interface Given {
  readonly message: Message
  readonly line: string
}

const [invalidRequest, internalError] = [-32_600, -32_603]

/** A service and its offered tools. */
export interface McpTarget extends Target {
  /** Comma-separated toolsets. Undefined: the default list. */
  readonly tools?: string | undefined
  readonly readOnly?: boolean
}

export class Service {
  readonly #target: McpTarget
  readonly #inFlight = new Map<string | number, { abort: AbortController; stream: boolean }>()
  readonly #closed = new AbortController()
  #revision: string | undefined

  constructor(target: McpTarget) {
    this.#target = target
  }

  /** Handles a cancellation by aborting the request. The service detects the closed connection. Returns true for a cancellation. */
  cancels(message: Message): boolean {
    if (Array.isArray(message) || (message as OneMessage).method !== "notifications/cancelled") return false
    this.#inFlight.get((message as OneMessage).params?.["requestId"] as string | number)?.abort.abort()
    return true
  }

  /** Passes all responses of this message to `hand`. Rejects with a Refusal. */
  async carry(given: Given, hand: (answer: unknown) => void): Promise<void> {
    const { message } = given
    const abort = new AbortController()
    const ids = requestIdsOf(message)
    for (const id of ids) this.#inFlight.set(id, { abort, stream: (message as OneMessage).method === "subscriptions/listen" })
    const signal = AbortSignal.any([abort.signal, this.#closed.signal])
    try {
      const response = await this.#posted(given, signal)
      if ((response.headers.get("content-type") ?? "").startsWith("text/event-stream")) await this.#events(response, hand)
      else if (response.status !== 202) for (const answer of answersTo(ids, this.#read(await response.text()))) hand(answer)
    } catch (cause) {
      if (!signal.aborted) throw refusalOf(cause, this.#target.url)
    } finally {
      for (const id of ids) this.#inFlight.delete(id)
    }
  }

  /** Ends open-ended subscriptions. */
  closeStreams(): void {
    for (const { abort, stream } of this.#inFlight.values()) if (stream) abort.abort()
  }

  close(): void {
    this.#closed.abort()
  }

  /** Retries only unprocessed requests: the service was unreachable, or refused the request before handling it. */
  async #posted(given: Given, signal: AbortSignal): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#post(given, signal)
      if (outcome instanceof Response) return outcome
      const delayMs = delayBeforeNext({
        attempt,
        error: outcome,
        route: { method: "POST", path: "/mcp", repeatable: true },
        policy: defaultRetries,
      })
      if (delayMs === undefined || (outcome.status === 0 && !neverSent(outcome))) throw outcome
      await pause(delayMs, signal)
    }
  }

  async #post({ message, line }: Given, signal: AbortSignal): Promise<Response | ClientError> {
    const { url, key, organization, tools, readOnly } = this.#target
    const query = new URLSearchParams({ ...(tools === undefined ? {} : { tools }), ...(readOnly ? { read_only: "true" } : {}) })
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(organization ? { "x-organization-id": organization } : {}),
      ...headersOf(message, this.#revision),
    }
    let response: Response
    try {
      response = await fetch(`${url}/mcp${query.size > 0 ? `?${query}` : ""}`, {
        method: "POST",
        headers,
        body: line,
        signal,
        redirect: "error",
      })
    } catch (cause) {
      if (signal.aborted) throw cause
      const why = (cause as Error & { cause?: Error }).cause?.message ?? (cause as Error).message
      return new ClientError("unavailable", `${url} cannot be reached: ${why}`, { reason: "no_response" }, { cause })
    }
    if (response.ok) return response
    // A protocol error is a regular message.
    const text = await response.text()
    return messagesOf(text) ? new Response(text, { headers: response.headers }) : await errorOf(new Response(text, response))
  }

  async #events(response: Response, hand: (answer: unknown) => void): Promise<void> {
    let rest = ""
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      const events = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).replaceAll("\r\n", "\n").split("\n\n")
      rest = events.pop() ?? ""
      for (const event of events) {
        const data = event.split("\n").flatMap((line) => (line.startsWith("data:") ? [line.slice(5).trimStart()] : []))
        if (data.length > 0) hand(this.#read(data.join("\n")))
      }
    }
  }

  #read(text: string): Message {
    const message = messagesOf(text)
    if (!message) throw new ClientError("unknown", `The answer is not a JSON-RPC message: ${text.slice(0, 100)}`, { reason: "not_json" })
    const agreed = (message as OneMessage).result as { protocolVersion?: unknown; serverInfo?: unknown } | undefined
    if (typeof agreed?.protocolVersion === "string" && agreed.serverInfo) this.#revision = agreed.protocolVersion
    return message
  }
}

function neverSent({ cause }: ClientError): boolean {
  return /ECONNREFUSED|ENOTFOUND|EAI_AGAIN/.test(((cause as Error | undefined)?.cause as { code?: string } | undefined)?.code ?? "")
}

function refusalOf(cause: unknown, url: string): Refusal {
  if (!(cause instanceof ClientError))
    return { code: internalError, text: `The connection to ${url} was lost: ${(cause as Error).message}`, data: {} }
  const { code, message, details, status } = cause
  return { code: status >= 400 && status < 500 ? invalidRequest : internalError, text: message, data: { code, message, details } }
}
