// The HTTP client: one outgoing call with one deadline. It follows redirects itself, so every hop is checked like the first. The
// job queue handles retries.
import type { Agent } from "undici"
import { AppError, type Clock, type OutgoingHttp, type OutgoingRequest, type OutgoingResponse } from "#core"
import {
  type CoreConfig,
  type Destinations,
  giveUpAfter,
  type OutgoingCapture,
  type OutgoingResult,
  systemClock,
  traceHeaders,
} from "#core/engine"
import { parseHostRule } from "./address-policy.ts"
import { acceptedEncodings, jsonOf, readBounded, textOf } from "./body.ts"
import { explain } from "./failures.ts"
import { guardedConnect, type Resolve } from "./guarded-connect.ts"
import { checkHeaders } from "./headers.ts"
import { Pools } from "./pools.ts"
import { checkLiteral, type Hop, nextHop, parseTarget } from "./redirect.ts"

const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

/** The client with its open connections. */
export interface OutgoingClient extends OutgoingHttp {
  close(): Promise<void>
}

export interface OutgoingOptions {
  readonly clock?: Clock
  /** Pauses the calls to unresponsive hosts. */
  readonly destinations?: Destinations
}

/** With a capture no connection is opened: the capture receives every hop. */
export function createOutgoingHttp(
  settings: CoreConfig["outgoing"],
  resolve?: Resolve,
  capture?: OutgoingCapture,
  { clock = systemClock, destinations }: OutgoingOptions = {},
): OutgoingClient {
  const rules = settings.allow_hosts.map(parseHostRule)
  // Opened on first use: a command declares the plugin and makes no call.
  const openAgent = async () => {
    const { Agent } = await import("undici")
    return new Agent({
      connect: guardedConnect(rules, settings.timeout_ms, resolve),
      allowH2: false,
      connections: 32,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: 10_000,
    })
  }
  const pools = new Pools(openAgent, clock)

  const once = capture
    ? (hop: Hop, signal: AbortSignal) => capturedOnce(capture, hop, signal)
    : (hop: Hop, signal: AbortSignal, maxBytes: number, organization: string) =>
        pools.use(organization, (agent) => sentOnce(agent, hop, signal, maxBytes))

  async function sentOnce(agent: Agent, hop: Hop, signal: AbortSignal, maxBytes: number): Promise<HopAnswer> {
    const answer = await agent.request({
      origin: hop.url.origin,
      path: hop.url.pathname + hop.url.search,
      method: hop.method as "GET",
      headers: { ...hop.headers, ...traceHeaders() },
      body: hop.body ?? null,
      signal,
    })
    // The reader of a body gets its errors. An error of an unread body must not end the process.
    answer.body.on("error", () => undefined)
    const headers: Record<string, string> = {}
    for (const [name, value] of Object.entries(answer.headers)) {
      if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(", ") : value
    }
    try {
      const empty = hop.method === "HEAD" || answer.statusCode === 204 || answer.statusCode === 304 || headers["content-length"] === "0"
      const encoding = empty ? undefined : headers["content-encoding"]
      return { status: answer.statusCode, headers, body: await readBounded(answer.body, encoding, maxBytes, hop.url.origin) }
    } catch (error) {
      answer.body.destroy()
      throw error
    }
  }

  async function follow(first: Hop, request: OutgoingRequest, signal: AbortSignal): Promise<OutgoingResponse> {
    const maxBytes = request.maxFileBytes ?? Math.min(request.maxBytes ?? settings.max_response_bytes, settings.max_response_bytes)
    const { organization = "" } = request
    let hop = first
    for (let followed = 0; ; followed++) {
      checkLiteral(rules, hop.url)
      const { url } = hop
      const make = () =>
        once(hop, signal, maxBytes, organization).catch((error: unknown) => {
          throw explain(error, url.origin, signal)
        })
      const answer = await (destinations ? destinations.call({ organization, kind: "http", name: url.host }, make) : make())
      const next = request.redirects === "manual" ? undefined : nextHop(hop, answer, followed, request.redirects ?? "follow")
      if (next) {
        hop = next
        continue
      }
      const { status, headers, body } = answer
      const { origin } = hop.url
      if (request.maxFileBytes !== undefined) return { status, headers, text: "", bytes: body, json: undefined, origin }
      const contentType = headers["content-type"] ?? ""
      const text = textOf(body, contentType)
      return { status, headers, text, json: jsonOf(text, contentType), origin }
    }
  }

  async function fetch(request: OutgoingRequest): Promise<OutgoingResponse> {
    const hop = firstHop(request)
    const deadline = new AbortController()
    const late = () => deadline.abort(new DOMException("The call timed out.", "TimeoutError"))
    const cancel = giveUpAfter(clock, request.timeoutMs ?? settings.timeout_ms, late)
    const signal = request.signal ? AbortSignal.any([request.signal, deadline.signal]) : deadline.signal
    try {
      return await follow(hop, request, signal)
    } finally {
      cancel()
    }
  }

  return {
    fetch,
    send: async (request) => outcomeOf(await fetch(request)),
    check: (url) => checkLiteral(rules, parseTarget(url)),
    close: () => pools.close(),
  }
}

interface HopAnswer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: Buffer
}

async function capturedOnce(capture: OutgoingCapture, hop: Hop, signal: AbortSignal): Promise<HopAnswer> {
  const body = hop.body === undefined ? null : Buffer.from(hop.body).toString("utf8")
  const answer = await capture.call({ method: hop.method, url: hop.url.href, headers: hop.headers, body }, signal)
  const headers = Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), value]))
  return { status: answer.status, headers, body: Buffer.from(answer.body) }
}

function firstHop(request: OutgoingRequest): Hop {
  const method = (request.method ?? "GET").toUpperCase()
  if (!methods.has(method)) {
    throw new AppError("invalid_argument", `The method "${method.slice(0, 20)}" is not one of ${[...methods].join(", ")}.`, {
      reason: "method_refused",
      retryable: false,
    })
  }
  const headers = checkHeaders(request.headers ?? {})
  if (request.idempotencyKey)
    headers["idempotency-key"] ??= checkHeaders({ "Idempotency-Key": request.idempotencyKey })["idempotency-key"] ?? ""
  headers["user-agent"] ??= "Millrace"
  headers["accept-encoding"] = acceptedEncodings
  return { url: parseTarget(request.url), method, headers, body: request.body }
}

/** Returns a client for the organization. A call may name another organization. */
export function asOrganization(http: OutgoingHttp, organization: string): OutgoingHttp {
  return {
    fetch: (request) => http.fetch({ organization, ...request }),
    send: (request) => http.send({ organization, ...request }),
    check: (url) => http.check(url),
  }
}

// The result of a step from a response: 2xx becomes a bounded result, other statuses an error with `retryable`. The error omits
// the response text, because errors are stored in logs and journals.

const maxCharacters = 65_536
const worthRetrying: ReadonlySet<number> = new Set([408, 425, 429])

/**
 * Throws `unavailable` for 408, 425, 429 and 5xx. Throws `failed_precondition` with `retryable: false` for other statuses outside
 * 2xx.
 */
export function outcomeOf(response: OutgoingResponse): OutgoingResult {
  const { status } = response
  if (status >= 200 && status < 300) {
    const truncated = response.text.length > maxCharacters
    return { status, body: truncated ? response.text.slice(0, maxCharacters).toWellFormed() : (response.json ?? response.text), truncated }
  }
  const retryable = worthRetrying.has(status) || status >= 500
  const message = `${response.origin} answered ${status}${retryable ? "" : "; a retry would not help"}.`
  if (!retryable) throw new AppError("failed_precondition", message, { reason: "unexpected_status", status, retryable })
  const after = Number(response.headers["retry-after"])
  const options = Number.isFinite(after) && after > 0 ? { retryAfterS: Math.min(after, 86_400) } : {}
  throw new AppError("unavailable", message, { reason: "receiver_unavailable", status, retryable }, options)
}
