// Links to the files of a received message: whose message it is, which file, and until when, under a MAC by a key that only the service has.
import { createHmac } from "node:crypto"
import { sameBytes } from "#core"

export interface FileRef {
  readonly organization: string
  readonly mail: string
  /** `message`, or the place of an attachment in the message. */
  readonly part: string
}

export const filePath = "/v1/email-files/{organization}/{mail}/{part}"
export const macPurpose = "files of received mail"

/** Path and query; `expiresAt` in whole seconds since the epoch. */
export function linkTo(macKey: Buffer, { organization, mail, part }: FileRef, expiresAt: number): string {
  const signature = mac(macKey, { organization, mail, part }, String(expiresAt)).toString("base64url")
  return `/v1/email-files/${organization}/${mail}/${part}?expires=${expiresAt}&signature=${signature}`
}

/** The signature is looked at first: a forged one learns nothing of times. */
export function checkLink(macKey: Buffer, file: FileRef, query: URLSearchParams, now: number): "valid" | "expired" | "forged" {
  const expires = query.get("expires") ?? ""
  const signature = query.get("signature") ?? ""
  const given = Buffer.from(signature, "base64url")
  // Re-encoding refuses other spellings of the same bytes.
  if (given.toString("base64url") !== signature || !sameBytes(given, mac(macKey, file, expires))) return "forged"
  return Number(expires) * 1_000 > now ? "valid" : "expired"
}

function mac(macKey: Buffer, { organization, mail, part }: FileRef, expires: string): Buffer {
  return createHmac("sha256", macKey).update([organization, mail, part, expires].join("\n")).digest()
}
