// One call: the request, its repeats, and the answer or the error. Only an operation's route is needed.
import { type ClientStream, errorOf, jsonOf, streamOf } from "./answer.ts"
import { ClientError } from "./error.ts"
import { defaultRetries, delayBeforeNext, pause, type RetryPolicy } from "./retry.ts"
import { type ClientRoute, type Fields, requestOf } from "./route.ts"
import type { CallOptions } from "./shape.ts"

/** The options of a client: address, key, retries and timeouts. */
export interface ClientOptions {
  /** Base address of the service: `https://api.example.com`. */
  readonly baseUrl: string
  /** API key or scoped token, or a function that returns it. Absent on the service's own pages: the browser sends its session. */
  readonly key?: string | (() => string | Promise<string>) | undefined
  /** UUID or slug of the call's organization; default: the key's own. */
  readonly organization?: string | undefined
  readonly retries?: Partial<RetryPolicy>
  /** Timeout of each call including retries; default: no timeout. */
  readonly timeoutMs?: number | undefined
  readonly fetch?: typeof fetch
  /** Called before each wait. */
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

  /** Waits before a retry if the failure may pass. Otherwise throws the failure. */
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

/** Returns the value if a header can carry it. The value may be a secret, so the error shows only the invalid character. */
function sendable(option: string, value: string): string {
  const wrong = /[^\t\x20-\x7e\x80-\xff]/u.exec(value)?.[0]
  if (wrong === undefined) return value
  const shown = wrong < " " || wrong === "\x7f" ? "a control character" : `"${wrong}"`
  throw new ClientError("invalid_argument", `${option}: holds ${shown}, which a header cannot carry; was it copied with its quotes?`, {
    reason: "invalid_option",
    option,
  })
}

/** Returns true if a repeated deletion finds no item because the first deletion succeeded and its answer was lost. */
function isGone(error: unknown, { route, input }: Sending): boolean {
  const deletes = route.method === "DELETE" && route.repeatable === true && route.path.endsWith("/{id}") && typeof input["id"] === "string"
  return deletes && error instanceof ClientError && error.code === "not_found" && error.details.reason !== "unrecognized_response"
}

/** Returns the error of a call without an answer. */
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

/** Throws if a repeated call lost its one-time secret: the first answer was lost, and the repeat omits the secret. */
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

/** Not crypto.randomUUID, since it is missing on pages over plain http. */
function drawnKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("")
}
