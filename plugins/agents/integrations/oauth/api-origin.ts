// The API origin of an account, for vendors that report it with a grant. The origin decides the destination of tokens, so only
// hosts in the app's document pass.
import { isRecord, type Json, type OutgoingHttp } from "#core"
import { withQuery } from "../../../platform/outgoing-http/index.ts"
import { type ApiOrigin, isSecureUrl } from "../apps/oauth-provider.ts"

const maxBytes = 65_536

/**
 * Fetches the value with the origin from `url`. Throws AppError if the request fails. Returns `undefined` for an answer without
 * the value.
 */
export async function toldAt(
  http: OutgoingHttp,
  { url, field, sent }: ApiOrigin & { url: string },
  token: string,
): Promise<Json | undefined> {
  const { headers, query = {} } = sent(token)
  const { status, json } = await http.fetch({ url: withQuery(url, query), headers, redirects: "manual", maxBytes })
  return status === 200 && isRecord(json) && Object.hasOwn(json, field) ? json[field] : undefined
}

/** Returns the origin, or undefined unless it is a secure URL at one of the app's hosts. */
export function originOf({ hosts }: ApiOrigin, url: unknown): string | undefined {
  if (typeof url !== "string" || url.length > 2_048 || !isSecureUrl(url)) return undefined
  const { hostname, origin } = new URL(url)
  return hosts.some((host) => hostname === host || hostname.endsWith(`.${host}`)) ? origin : undefined
}
