// Passkeys in the browser: creating one for the account, and signing in with one.
import type { PublicKeyCredentialCreationOptionsJSON, PublicKeyCredentialRequestOptionsJSON } from "@simplewebauthn/browser"
import { post, signIn } from "./session.ts"

/** Loaded with the first use. */
const library = () => import("@simplewebauthn/browser")

/** Returns true if the browser has passkeys for this page. */
export function hasPasskeys(): boolean {
  return isSecureContext && typeof PublicKeyCredential === "function" && !/^[\d.]+$|:/.test(location.hostname)
}

/** Creates a passkey with the options of the service. Returns the answer for it. Throws if the person declines. */
export async function createPasskey(options: PublicKeyCredentialCreationOptionsJSON) {
  const { startRegistration } = await library()
  const { id, rawId, type, response } = await startRegistration({ optionsJSON: options })
  return { id, rawId, type, response }
}

/** `in a field`: the browser lists passkeys in the email field, and the call waits for a choice. Returns the problem. */
export async function signInByPasskey(mode: "at once" | "in a field"): Promise<string> {
  const { startAuthentication, browserSupportsWebAuthnAutofill } = await library()
  const isInField = mode === "in a field"
  if (isInField && !(await browserSupportsWebAuthnAutofill())) return ""
  const offer = await post<{ readonly options: PublicKeyCredentialRequestOptionsJSON }>("/passkey/options", {})
  if ("problem" in offer) return isInField ? "" : offer.problem
  const answer = await startAuthentication({ optionsJSON: offer.options, useBrowserAutofill: isInField }).catch(() => undefined)
  if (!answer) return isInField ? "" : "No passkey was used; try again, or sign in by mail."
  return await signIn({ answer })
}
