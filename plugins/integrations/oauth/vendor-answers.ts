// Answers of token and revocation endpoints as the standards have them, of vendors that deviate: errors under 200, codes
// and token types of their own.
import { isRecord } from "#core"
import type { OAuthProvider } from "../apps/oauth-provider.ts"

export interface EndpointAnswer {
  readonly status: number
  readonly text: string
  /** Set where the text is a JSON object. */
  readonly json: Readonly<Record<string, unknown>> | undefined
}

export function standardAnswer(
  { bearer_types, invalid_grant_codes }: Pick<OAuthProvider, "bearer_types" | "invalid_grant_codes">,
  { status, text }: { readonly status: number; readonly text: string },
): EndpointAnswer {
  const given = objectOf(text)
  if (!given) return { status, text, json: undefined }
  // An ID token is not used here, and documents do not say what it would be verified by.
  const { id_token: _, ...json } = given
  const { error, token_type } = json
  if (typeof error === "string" && invalid_grant_codes.includes(error)) json["error"] = "invalid_grant"
  if (typeof token_type === "string" && bearer_types.includes(token_type.toLowerCase())) json["token_type"] = "bearer"
  const failed = typeof error === "string" && status < 400
  return { status: failed ? 400 : status, text: JSON.stringify(json), json }
}

function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}
