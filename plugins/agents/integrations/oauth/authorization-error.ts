// The reason for a failed authorization or refresh, for display at the connection. Only the error code of an authorization server
// is repeated.
import { z } from "zod"
import { AppError } from "#core"
import { AuthorizationDenied, GrantRefused } from "./protocol.ts"

export const authorizationErrorFields = {
  reason: z.string().describe("The error code of OAuth 2 where access was not granted, such as `access_denied`, else of this service."),
  message: z.string(),
  since: z.string().describe("When it first failed so."),
}

export type AuthorizationError = z.infer<z.ZodObject<typeof authorizationErrorFields>>

export function authorizationErrorOf(cause: unknown): Pick<AuthorizationError, "reason" | "message"> {
  if (cause instanceof AuthorizationDenied) {
    const reason = /^[a-z_]{1,60}$/.test(cause.error) ? cause.error : "access_denied"
    return { reason, message: `Access was not granted (${reason}).` }
  }
  if (cause instanceof GrantRefused)
    return { reason: "invalid_grant", message: "The authorization server did not accept the code that it gave. Connect the app again." }
  if (cause instanceof AppError) return { reason: String(cause.details.reason ?? cause.code), message: cause.message }
  return { reason: "internal", message: "The service failed; its log says why. Connect the app again." }
}

/** A repeated failure keeps its start time. */
export function since(before: AuthorizationError | null, { reason, message }: Pick<AuthorizationError, "reason" | "message">, at: string) {
  return { reason, message, since: before?.reason === reason ? before.since : at }
}
