// Signs requests to a webhook, and verifies its callbacks: HMAC-SHA-256 of `{timestamp}.{body}` under the agent's secret. Inbound
// pipelines verify the same form with `hmac_sha256` and `require_timestamp`.
import { createHmac, randomBytes } from "node:crypto"
import { sameSecret } from "#core"

const signatureHeader = "X-Signature-256"
const timestampHeader = "X-Signature-Timestamp"
const toleranceS = 300

export function generateAgentSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`
}

/** Returns the signature headers of a body. `now`: milliseconds since the epoch. */
export function signedHeaders(secret: string, body: string, now: number): Record<string, string> {
  const time = String(Math.floor(now / 1_000))
  return { [timestampHeader]: time, [signatureHeader]: signatureOf(secret, time, body) }
}

/** Returns false for a wrong signature, or a time more than five minutes off. `headers`: names in lower case. */
export function isSigned(secret: string, headers: Readonly<Record<string, string>>, body: string, now: number): boolean {
  const time = headers[timestampHeader.toLowerCase()] ?? ""
  const value = headers[signatureHeader.toLowerCase()] ?? ""
  const isFresh = /^\d{1,12}$/.test(time) && Math.abs(now / 1_000 - Number(time)) <= toleranceS
  return sameSecret(value, signatureOf(secret, time, body)) && isFresh
}

function signatureOf(secret: string, time: string, body: string): string {
  return `sha256=${createHmac("sha256", secret).update(`${time}.${body}`).digest("hex")}`
}
