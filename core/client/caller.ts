// One call: the request, its repeats, and the answer or the error. Knows operations by their routes only.
import { type ClientStream, errorOf, jsonOf, streamOf } from "./answer.ts"
import { ClientError } from "./error.ts"
import { defaultRetries, delayBeforeNext, pause, type RetryPolicy } from "./retry.ts"
import { type ClientRoute, type Fields, requestOf } from "./route.ts"
import type { CallOptions } from "./shape.ts"

/** Which service, with which key, and how patient. */
export interface ClientOptions {
  /** Where the service is: `https://api.example.com`. */
  readonly baseUrl: string
  /** API key or scoped token, or what gives one; absent on the service's own pages, where the browser's session goes along. */
  readonly key?: string | (() => string | Promise<string>) | undefined
  /** UUID or slug of the organization to act in; the key's own unless given. */
  readonly organization?: string | undefined
  readonly retries?: Partial<RetryPolicy>
  /** For each call as a whole; none unless given. */
  readonly timeoutMs?: number | undefined
  readonly fetch?: typeof fetch
  /** Told before each wait. */
  readonly onRetry?: (retry: {
    readonly operation: string
    readonly attempt: number
    readonly delayMs: number
    readonly error: ClientError
  }) => void
}

export type CallByName = (name: string, input?: Fields, options?: CallOptions) => Promise<unknown>

interface Sending {
  readonly name: string
  readonly route: ClientRoute
  readonly input: Fields
  readonly headers: Headers
  readonly signal: AbortSignal | undefined
}

export function createCaller(routes: Readonly<Record<string, ClientRoute>>, options: ClientOptions): CallByName {
  const base = baseOf(options.baseUrl)
  const policy = { ...defaultRetries, ...options.retries }
  const send = options.fetch ?? ((input, init) => fetch(input, init))

  async function once({ route, input, headers, signal }: Sending): Promise<Response> {
    const { method, path, body } = requestOf(route, input)
    let response: Response
    try {
      response = await send(base + path, {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
        ...(signal ? { signal } : {}),
        redirect: "error",
      })
    } catch (cause) {
      throw failureOf(cause, signal, base)
    }
    if (!response.ok) throw await errorOf(response)
    return response
  }

  async function answerOf(sending: Sending, attempt: number): Promise<unknown> {
    const response = await once(sending)
    if (sending.route.streams) return streamOf(response) satisfies ClientStream
    let body: unknown
    try {
      body = await jsonOf(response)
    } catch (cause) {
      throw cause instanceof ClientError ? cause : failureOf(cause, sending.signal, base)
    }
    if (attempt > 1) refuseLostSecret(body, response)
    return body
  }

  async function sendingOf(name: string, input: Fields, own: CallOptions): Promise<Sending> {
    const { timeoutMs = options.timeoutMs, idempotencyKey, organization = options.organization } = own
    const route = Object.hasOwn(routes, name) ? routes[name] : undefined
    if (!route) throw new ClientError("unimplemented", `The client knows no operation "${name}".`, { reason: "unknown_operation" })
    const key = typeof options.key === "function" ? await options.key() : options.key
    const headers = new Headers(key === undefined ? {} : { authorization: `Bearer ${sendable("key", key)}` })
    if (organization) headers.set("x-organization-id", sendable("organization", organization))
    if (route.method !== "GET" && route.method !== "DELETE") headers.set("content-type", "application/json")
    if (route.keyed) headers.set("idempotency-key", idempotencyKey === undefined ? drawnKey() : sendable("idempotencyKey", idempotencyKey))
    return { name, route, input, headers, signal: signalOf(own.signal, timeoutMs) }
  }

  /** Waits where the failure may pass; throws it where it stands. */
  async function outlast(error: unknown, attempt: number, { name, route, signal }: Sending): Promise<void> {
    if (!(error instanceof ClientError)) throw error
    const delayMs = delayBeforeNext({ attempt, error, route, policy })
    if (delayMs === undefined) throw error
    options.onRetry?.({ operation: name, attempt, delayMs, error })
    await pause(delayMs, signal).catch((cause: unknown) => {
      throw failureOf(cause, signal, base)
    })
  }

  return async (name, input = {}, own = {}) => {
    const sending = await sendingOf(name, input, own)
    let lost = false
    for (let attempt = 1; ; attempt++) {
      try {
        return await answerOf(sending, attempt)
      } catch (error) {
        if (lost && isGone(error, sending)) return { id: input["id"], deleted: true }
        lost ||=
          error instanceof ClientError && error.code === "unavailable" && /^(?:no|unrecognized)_response$/.test(error.details.reason ?? "")
        await outlast(error, attempt, sending)
      }
    }
  }
}

function signalOf(given: AbortSignal | undefined, timeoutMs: number | undefined): AbortSignal | undefined {
  if (timeoutMs === undefined) return given
  const late = AbortSignal.timeout(timeoutMs)
  return given ? AbortSignal.any([given, late]) : late
}

/** Throws ClientError for an invalid address. */
export function baseOf(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ClientError("invalid_argument", `"${address}" is not an address of a service; give one such as http://127.0.0.1:8080.`, {
      reason: "invalid_base_url",
    })
  }
  return url.origin + url.pathname.replace(/\/+$/, "")
}

/** What a header can carry. The value itself may be a secret: only what is wrong in it is shown. */
function sendable(option: string, value: string): string {
  const wrong = /[^\t\x20-\x7e\x80-\xff]/u.exec(value)?.[0]
  if (wrong === undefined) return value
  const shown = wrong < " " || wrong === "\x7f" ? "a control character" : `"${wrong}"`
  throw new ClientError("invalid_argument", `${option}: holds ${shown}, which a header cannot carry; was it copied with its quotes?`, {
    reason: "invalid_option",
    option,
  })
}

/** A repeat of a deletion whose answer was lost finds nothing more to delete: what was asked for holds. */
function isGone(error: unknown, { route, input }: Sending): boolean {
  const deletes = route.method === "DELETE" && route.repeatable === true && route.path.endsWith("/{id}") && typeof input["id"] === "string"
  return deletes && error instanceof ClientError && error.code === "not_found" && error.details.reason !== "unrecognized_response"
}

/** Why there was no answer. */
function failureOf(cause: unknown, signal: AbortSignal | undefined, base: string): ClientError {
  if (signal?.aborted) {
    const late = (signal.reason as Error | undefined)?.name === "TimeoutError"
    return late
      ? new ClientError("deadline_exceeded", "The call timed out.", { reason: "client_timeout" }, { cause })
      : new ClientError("canceled", "The call was canceled.", { reason: "client_canceled" }, { cause })
  }
  const { cause: inner, message } = cause as Error & { cause?: Error & { code?: string } }
  const why = inner?.message || inner?.code || message
  return new ClientError("unavailable", `${base} cannot be reached: ${why}`, { reason: "no_response" }, { cause })
}

/** A repeat of a call that had gone through is answered without the secret that was shown once, and lost on the way. */
function refuseLostSecret(body: unknown, response: Response): void {
  const details = (body as { details?: { reason?: unknown } } | null)?.details
  if (response.headers.get("idempotency-replayed") !== "true" || details?.reason !== "secret_shown_once") return
  throw new ClientError(
    "data_loss",
    "The call succeeded, but the response with its secret was lost; create a new secret (rotate it, or revoke and create again).",
    { reason: "secret_lost", answer: body },
    { status: response.status },
  )
}

/** Not crypto.randomUUID, which pages on plain http lack. */
function drawnKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("")
}
