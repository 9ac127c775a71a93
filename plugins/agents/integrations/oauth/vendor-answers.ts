// Converts answers of token and revocation endpoints to the standard form. Vendors deviate: errors under 200, own codes and token
// types, null or empty members, forms instead of JSON.
import { isRecord, parsedJson } from "#core"
import type { OAuthProvider } from "../apps/oauth-provider.ts"

export interface EndpointAnswer {
  readonly status: number
  readonly text: string
  /** Set if the answer is a JSON object or a form with an access token. */
  readonly json: Readonly<Record<string, unknown>> | undefined
}

interface Given {
  readonly status: number
  readonly text: string
  readonly contentType?: string | undefined
}

/** Ten years. Longer lifetimes are reduced to this. */
const maxLifetimeS = 315_360_000

export function standardAnswer(
  { bearer_types, invalid_grant_codes }: Pick<OAuthProvider, "bearer_types" | "invalid_grant_codes">,
  { status, text, contentType = "" }: Given,
): EndpointAnswer {
  const fields = objectOf(text) ?? formOf(text, contentType)
  if (!fields) return { status, text, json: undefined }
  const json = withoutBlanks(fields)
  const { error, token_type } = json
  if (typeof error === "string" && invalid_grant_codes.includes(error)) json["error"] = "invalid_grant"
  if (typeof token_type === "string" && bearer_types.includes(token_type.toLowerCase())) json["token_type"] = "bearer"
  if (typeof error === "string") return { status: status < 400 ? 400 : status, text: JSON.stringify(json), json }
  const isGrant = status >= 200 && status < 300 && typeof json["access_token"] === "string"
  const answer = isGrant ? grantOf(json) : json
  return { status: isGrant ? 200 : status, text: JSON.stringify(answer), json: answer }
}

/** Removes null and empty members. They mean the same as absent members. */
function withoutBlanks(fields: Record<string, unknown>): Record<string, unknown> {
  const isBlank = (value: unknown) => value === null || value === undefined || (typeof value === "string" && value.trim() === "")
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isBlank(value)))
}

/** Returns only usable optional members. An access token is valid without any of them. */
function grantOf(json: Record<string, unknown>): Record<string, unknown> {
  // The service does not use ID tokens, and app documents do not contain a key to verify them.
  const { token_type, expires_in, refresh_token, scope, id_token: _, ...rest } = json
  const lifetime = lifetimeOf(expires_in)
  const scopes = Array.isArray(scope) ? scope.filter((value) => typeof value === "string").join(" ") : scope
  return {
    ...rest,
    token_type: typeof token_type === "string" ? token_type.trim() : "bearer",
    ...(lifetime !== undefined && { expires_in: lifetime }),
    ...(typeof refresh_token === "string" && { refresh_token }),
    ...(typeof scopes === "string" && scopes !== "" && { scope: scopes }),
  }
}

/** Returns whole seconds, or undefined if the lifetime is not positive. */
function lifetimeOf(value: unknown): number | undefined {
  const seconds = typeof value === "string" ? Number.parseFloat(value) : value
  if (typeof seconds !== "number" || Number.isNaN(seconds) || seconds <= 0) return undefined
  return Math.min(Math.ceil(seconds), maxLifetimeS)
}

function objectOf(text: string): Record<string, unknown> | undefined {
  const value = parsedJson(text)
  return isRecord(value) ? value : undefined
}

/** Parses a form. Some vendors answer in this format of early OAuth 2 drafts. */
function formOf(text: string, contentType: string): Record<string, unknown> | undefined {
  if (!/^\s*(?:application\/x-www-form-urlencoded|text\/plain)\b/i.test(contentType) || !/(?:^|&)(?:access_token|error)=/.test(text))
    return undefined
  return Object.fromEntries(new URLSearchParams(text.trim()))
}
