// Guarded HTTP calls to other systems. Pipelines, integrations and plugins have no other way out.
import { token } from "../kernel/di.ts"
import type { Json } from "./collection.ts"

/** One call to another system. */
export interface OutgoingRequest {
  readonly url: string
  /**
   * Id of the calling organization. Each has its own connections and its own pauses for hosts that do not answer. Empty or
   * absent: the service itself.
   */
  readonly organization?: string
  /** Default GET. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Timeout of the whole call, including redirects and body; default `outgoing.timeout_ms`. */
  readonly timeoutMs?: number
  /** Maximum size of the decompressed body; never more than `outgoing.max_response_bytes`. */
  readonly maxBytes?: number
  /** Maximum size of a fetched file. Its bytes are returned in place of text, and `outgoing.max_response_bytes` does not apply. */
  readonly maxFileBytes?: number
  readonly signal?: AbortSignal
  /** Sent as `Idempotency-Key` unless the headers contain one. */
  readonly idempotencyKey?: string
  /**
   * `follow` (default) follows to any allowed address and drops credentials across origins. `same_origin` refuses another origin.
   * `manual` returns the redirect.
   */
  readonly redirects?: "follow" | "same_origin" | "manual"
}

/** The other system's answer. */
export interface OutgoingResponse {
  readonly status: number
  /** Names in lower case. Values of a repeated header are joined with a comma. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** Set if the request has `maxFileBytes`. */
  readonly bytes?: Uint8Array
  /** Set if both content type and text are JSON. */
  readonly json: Json | undefined
  /** Scheme, host and port of the answer, for messages. */
  readonly origin: string
}

/** The step result of a response. */
export interface OutgoingResult {
  readonly status: number
  /** Parsed JSON for a JSON response, otherwise the text. Only the beginning if `truncated`. */
  readonly body: Json
  readonly truncated: boolean
}

/**
 * HTTP to other systems. `outgoing.allow_hosts` and the public network limit the addresses; time and size are bounded. In tests
 * and rehearsals calls are captured.
 */
export interface OutgoingHttp {
  /**
   * Resolves for any status. Throws AppError: `invalid_argument` and `failed_precondition` for refused calls; `unavailable`,
   * `deadline_exceeded`, `canceled` and `resource_exhausted` for failed calls. Details have `retryable: false` if a retry cannot
   * help.
   */
  fetch(request: OutgoingRequest): Promise<OutgoingResponse>
  /**
   * Like `fetch`, for a step: any status outside 2xx throws. 408, 425, 429 and 5xx throw `unavailable` and are retried. Others
   * throw `failed_precondition` with `retryable: false`.
   */
  send(request: OutgoingRequest): Promise<OutgoingResult>
  /** Throws for a URL that `fetch` refuses without DNS resolution. */
  check(url: string): void
}

export const OutgoingHttp = token<OutgoingHttp>("OutgoingHttp")
