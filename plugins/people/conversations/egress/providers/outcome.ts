// What became of one call that sends a message, and how the errors of the call itself are to be read.
import type { AppError, OutgoingResponse } from "#core"
import type { IntegrationRequest } from "../../../../agents/integrations/index.ts"
import type { StoredMessage } from "../../messages.ts"
import type { PhoneNumber } from "../../numbers/phone-number.ts"

export type Outcome =
  /** The provider has it. */
  | { readonly kind: "accepted"; readonly provider_id: string }
  /** The provider refused it, and would again. */
  | { readonly kind: "failed"; readonly code: string; readonly message: string }
  /** It was certainly not taken, and may be later. */
  | { readonly kind: "again"; readonly code: string; readonly message: string; readonly afterMs?: number }
  /** Nobody can tell whether it was taken; neither provider knows a repeat by a key, so that it is not sent again. */
  | { readonly kind: "unknown"; readonly message: string }

export interface Outbound {
  readonly message: StoredMessage
  readonly address: string
  readonly number: PhoneNumber
}

/** A provider's protocol. */
export interface SendingProvider {
  /** The connection, and the request below its base URL. */
  request(outbound: Outbound): { readonly integration: string; readonly request: IntegrationRequest }
  read(response: OutgoingResponse): Outcome
}

/** Errors of a connection that was never made. */
const neverMade: ReadonlySet<string> = new Set([
  ...["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"],
])

/** Errors by which nothing was called, and nothing would be. */
const refusals: ReadonlySet<string> = new Set([
  ...[
    "integration_not_found",
    "integration_unusable",
    "oauth_expired",
    "address_refused",
    "url_refused",
    "request_refused",
    "header_refused",
  ],
])

export function outcomeOfError({ message, details, notTried, retryAfterS }: AppError): Outcome {
  const reason = String(details.reason ?? "")
  if (notTried) return { kind: "again", code: reason, message, ...(retryAfterS === undefined ? {} : { afterMs: retryAfterS * 1_000 }) }
  if (refusals.has(reason)) return { kind: "failed", code: reason, message }
  const isNeverMade = reason === "connection_failed" && neverMade.has(String((details as { cause?: unknown }).cause))
  if (isNeverMade) return { kind: "again", code: reason, message }
  return { kind: "unknown", message }
}

/** An error of the server itself: it may have taken the message before, with any code that it names. */
export function serverError(provider: string, status: number, { code, message }: { code: string; message: string }): Outcome {
  return { kind: "unknown", message: `${provider} answered ${status}${code && ` (${code})`}${message && `: ${message}`}` }
}

/** What a provider asks by `Retry-After`, at most an hour. */
export function retryAfterMs(response: OutgoingResponse): { afterMs?: number } {
  const seconds = Number(response.headers["retry-after"])
  return Number.isFinite(seconds) && seconds > 0 ? { afterMs: Math.min(seconds, 3_600) * 1_000 } : {}
}
