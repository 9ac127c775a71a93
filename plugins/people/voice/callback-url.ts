// Callback URL for status changes at Trust Hub. The signature keeps others from triggering requests to Trust Hub. The callback's
// content is not trusted. It only triggers a new status request.
import { createHmac } from "node:crypto"
import { sameSecret, type Vault } from "#core"

export const callbackPath = "/v1/voice/callbacks"

/** Returns the callback URL. Empty if Twilio cannot reach the service by https. */
export function callbackUrl({ vault, base }: { readonly vault: Vault; readonly base: string }, organization: string, id: string): string {
  if (!base.startsWith("https://")) return ""
  return `${base}${callbackPath}/${organization}/${id}/${signatureOf(vault, organization, id)}`
}

export function isSigned(vault: Vault, organization: string, id: string, signature: string): boolean {
  return sameSecret(signature, signatureOf(vault, organization, id))
}

function signatureOf(vault: Vault, organization: string, id: string): string {
  return createHmac("sha256", vault.keyFor("caller name callbacks")).update(`${organization}/${id}`).digest("base64url")
}
