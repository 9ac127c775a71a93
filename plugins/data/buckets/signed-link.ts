// Links to objects kept in a folder: what they name and until when, under a MAC by a key that only the service has.
import { createHmac } from "node:crypto"
import { sameBytes } from "#core"

export interface LinkTarget {
  readonly organization: string
  readonly key: string
}

export const objectPath = "/v1/objects/{organization}/{key+}"

/** Path and query of a link; `expiresAt` in milliseconds since the epoch, rounded up to a second. */
export function signLink(macKey: Buffer, { organization, key }: LinkTarget, expiresAt: number): string {
  const expires = String(Math.ceil(expiresAt / 1_000))
  const signature = mac(macKey, { organization, key }, expires).toString("base64url")
  return `/v1/objects/${organization}/${key}?expires=${expires}&signature=${signature}`
}

export type LinkVerdict = "valid" | "expired" | "forged"

/** Whether a link that came back is one of ours and still lives. The signature is looked at first: a forged one learns nothing of times. */
export function checkLink(macKey: Buffer, target: LinkTarget, query: URLSearchParams, now: number): LinkVerdict {
  const expires = query.get("expires") ?? ""
  const signature = query.get("signature") ?? ""
  const right = mac(macKey, target, expires)
  const given = Buffer.from(signature, "base64url")
  // Re-encoding refuses other spellings of the same bytes.
  if (given.toString("base64url") !== signature || !sameBytes(given, right)) return "forged"
  if (!/^\d{1,15}$/.test(expires)) return "forged"
  return Number(expires) * 1_000 > now ? "valid" : "expired"
}

function mac(macKey: Buffer, { organization, key }: LinkTarget, expires: string): Buffer {
  return createHmac("sha256", macKey).update(["GET", organization, key, expires].join("\n")).digest()
}
