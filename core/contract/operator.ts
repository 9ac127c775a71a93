// The operator's credential. The holder of the master key acts as the operator of the service, for one minute and one operation.
// `millrace` creates the credential beside the service and stores no copy.
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"

const prefix = "mr_operator_"
const lifeMs = 60_000
/** Maximum clock difference between the command and the service. */
const skewMs = 30_000

/** The vault's purpose for the signing key. */
export const operatorPurpose = "operator"

/** Returns true for the text of an operator's credential, valid or not. */
export function isOperatorCredential(bearer: string | undefined): bearer is string {
  return bearer?.startsWith(prefix) === true
}

/** Creates a credential for one operation. `key` is `Vault.keyFor(operatorPurpose)`. */
export function drawOperatorCredential(key: Buffer, operation: string, now: number): string {
  const expires = now + lifeMs
  const nonce = randomBytes(12).toString("hex")
  return `${prefix}${operation}_${expires}_${nonce}_${macOf(key, operation, expires, nonce)}`
}

/** Returns the operation of a valid credential, otherwise undefined. */
export function readOperatorCredential(key: Buffer, text: string, now: number): string | undefined {
  const [, operation = "", expires = "", nonce = "", mac = ""] =
    /^mr_operator_([a-z_.]+)_(\d{1,15})_([0-9a-f]{24})_([0-9a-f]{64})$/.exec(text) ?? []
  const expected = macOf(key, operation, Number(expires), nonce)
  const isSigned = mac.length === expected.length && timingSafeEqual(Buffer.from(mac), Buffer.from(expected))
  const isCurrent = Number(expires) > now - skewMs && Number(expires) <= now + lifeMs + skewMs
  return isSigned && isCurrent ? operation : undefined
}

function macOf(key: Buffer, operation: string, expires: number, nonce: string): string {
  return createHmac("sha256", key).update(`${operation}\n${expires}\n${nonce}`).digest("hex")
}
