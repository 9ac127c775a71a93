// HTTP calls to other systems, guarded: the one way out that pipelines, integrations and plugins are given.
import { token } from "../kernel/di.ts"
import type { Json } from "./collection.ts"

/** One call to another system. */
export interface OutgoingRequest {
  readonly url: string
  /** Id of the organization that calls. Each has connections of its own, and its own pauses for hosts that do not answer. Empty or absent: the service itself. */
  readonly organization?: string
  /** GET unless given. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Of the whole call, redirects and body included; `outgoing.timeout_ms` unless given. */
  readonly timeoutMs?: number
  /** Of the unpacked body; never more than `outgoing.max_response_bytes`. */
  readonly maxBytes?: number
  /** Of a file that is fetched: its bytes are returned in place of text, and `outgoing.max_response_bytes` does not count. */
  readonly maxFileBytes?: number
  readonly signal?: AbortSignal
  /** Sent as `Idempotency-Key` unless the headers hold one. */
  readonly idempotencyKey?: string
  /** `follow` (default) goes anywhere allowed and drops credentials across origins; `same_origin` refuses another origin; `manual` returns the redirect. */
  readonly redirects?: "follow" | "same_origin" | "manual"
}

/** What the other system answered. */
export interface OutgoingResponse {
  readonly status: number
  /** Names in lower case; a repeated header's values joined with a comma. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** Set where the request has `maxFileBytes`. */
  readonly bytes?: Uint8Array
  /** Set when the content type says JSON and the text is. */
  readonly json: Json | undefined
  /** Scheme, host and port that answered; for messages. */
  readonly origin: string
}

/** What a step makes of a response. */
export interface OutgoingResult {
  readonly status: number
  /** JSON where the response was JSON, its text otherwise; only its beginning when `truncated`. */
  readonly body: Json
  readonly truncated: boolean
}

/** HTTP to other systems: only to addresses that `outgoing.allow_hosts` and the public network allow, with bounds on time and size. In tests and rehearsals the call is captured. */
export interface OutgoingHttp {
  /** Any status resolves. Throws AppError: `invalid_argument` and `failed_precondition` for what is refused, `unavailable`, `deadline_exceeded`, `canceled`, `resource_exhausted` for what went wrong; details carry `retryable: false` where trying again is of no use. */
  fetch(request: OutgoingRequest): Promise<OutgoingResponse>
  /** As `fetch`, for a step: any status outside 2xx throws, `unavailable` for 408, 425, 429 and 5xx, which are retried, `failed_precondition` with `retryable: false` for others. */
  send(request: OutgoingRequest): Promise<OutgoingResult>
  /** Throws for a URL that `fetch` would refuse without asking a resolver. */
  check(url: string): void
}

export const OutgoingHttp = token<OutgoingHttp>("OutgoingHttp")
