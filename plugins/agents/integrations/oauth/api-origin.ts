// Where an account's API is, of vendors that tell it when access is granted. What they tell decides where tokens are sent,
// so only the hosts that the app's document names pass.
import { isRecord, type Json, type OutgoingHttp } from "#core"
import { withQuery } from "../../../platform/outgoing-http/index.ts"
import { type ApiOrigin, isSecureUrl } from "../apps/oauth-provider.ts"

const maxBytes = 65_536

/** The value that tells the origin, at `url`. Throws AppError where that cannot be asked; `undefined` for any other answer than one that tells. */
export async function toldAt(
  http: OutgoingHttp,
  { url, field, sent }: ApiOrigin & { url: string },
  token: string,
): Promise<Json | undefined> {
  const { headers, query = {} } = sent(token)
  const { status, json } = await http.fetch({ url: withQuery(url, query), headers, redirects: "manual", maxBytes })
  return status === 200 && isRecord(json) && Object.hasOwn(json, field) ? json[field] : undefined
}

/** The origin of what was told; undefined where it is not a secure URL at one of the app's hosts. */
export function originOf({ hosts }: ApiOrigin, url: unknown): string | undefined {
  if (typeof url !== "string" || url.length > 2_048 || !isSecureUrl(url)) return undefined
  const { hostname, origin } = new URL(url)
  return hosts.some((host) => hostname === host || hostname.endsWith(`.${host}`)) ? origin : undefined
}
