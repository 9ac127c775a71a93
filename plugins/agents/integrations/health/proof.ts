// The verdict of an app's answer to its test call. The answer itself is not repeated, because its content is untrusted.
import { AppError, isRecord, type Json, type OutgoingResponse } from "#core"
import type { TestCall } from "../apps/document.ts"

export const proofReasons = [
  "",
  "unauthorized",
  "rate_limited",
  "server_error",
  "unexpected_answer",
  "unreachable",
  "timeout",
  "call_refused",
  "no_credentials",
] as const

export interface Proof {
  readonly ok: boolean
  /** Empty if the credentials work. */
  readonly reason: (typeof proofReasons)[number]
  readonly message: string
  /** HTTP status. Null without an answer. */
  readonly status: number | null
  /** Wait requested by the vendor, in seconds. */
  readonly retryAfterS: number | null
  /** True if the error may pass without new credentials. */
  readonly transient: boolean
}

export function proofOf({ success }: TestCall, response: OutgoingResponse): Proof {
  const { status, origin } = response
  const summary = `${origin} answered ${status}`
  const failed = (reason: Proof["reason"], message: string, transient = false): Proof => ({
    ok: false,
    reason,
    message,
    status,
    retryAfterS: retryAfter(response),
    transient,
  })
  if (status === 401 || status === 403) return failed("unauthorized", `${summary}: it refuses the credentials. Rotate them.`)
  if (status === 429) return failed("rate_limited", `${summary}: too many calls. The credentials were not judged.`, true)
  if (status === 408 || status === 425 || status >= 500) return failed("server_error", `${summary}.`, true)
  if (!success.status.includes(status)) return failed("unexpected_answer", `${summary}; expected ${success.status.join(" or ")}.`)
  if (success.json) {
    const { field, equals } = success.json
    const value = valueAt(response.json, field)
    if (value === undefined) return failed("unexpected_answer", `${summary}, without the field ${field} that proves the credentials.`)
    if (equals !== undefined && value !== equals) {
      return failed("unauthorized", `${summary}, but ${field} is not ${JSON.stringify(equals)}: it refuses the credentials. Rotate them.`)
    }
  }
  return { ok: true, reason: "", message: "", status, retryAfterS: null, transient: false }
}

/** Returns the proof of a failed call. Throws errors unrelated to the app and the connection. */
export function proofOfFailure(error: unknown): Proof {
  if (!(error instanceof AppError) || error.code === "canceled" || error.details.reason === "no_descriptors") throw error
  const failed = (reason: Proof["reason"], transient: boolean): Proof => ({
    ok: false,
    reason,
    message: error.message,
    status: null,
    retryAfterS: null,
    transient,
  })
  if (error.details.reason === "destination_paused" || error.details.reason === "oauth_refresh_busy") return failed("timeout", true)
  if (error.notTried) return { ...failed("rate_limited", true), retryAfterS: error.retryAfterS ?? null }
  if (error.code === "deadline_exceeded") return failed("timeout", true)
  if (error.details.reason === "connection_failed") return failed("unreachable", error.details["retryable"] !== false)
  if (error.details.reason === "integration_unusable") return failed("no_credentials", false)
  if (error.details.reason === "oauth_server_failed") return failed("server_error", true)
  return failed("call_refused", error.code === "unavailable")
}

function valueAt(json: Json | undefined, path: string): Json | undefined {
  return path.split(".").reduce<Json | undefined>((at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined), json)
}

/** Seconds of Retry-After. Dates are ignored. */
function retryAfter({ headers }: OutgoingResponse): number | null {
  const seconds = Number(headers["retry-after"])
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(Math.ceil(seconds), 86_400) : null
}
