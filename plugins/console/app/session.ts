// Calls of the sign-in, without a session. Each returns the service's error message as the problem.

import type { PublicKeyCredentialCreationOptionsJSON, PublicKeyCredentialRequestOptionsJSON } from "@simplewebauthn/browser"
import { refreshSession } from "./api.ts"
import { fetchPatiently } from "./patient-fetch.ts"

const path = "/console-session"

interface RefusedSignIn {
  readonly problem: string
  readonly reason: string
}

/** Posts JSON to a sign-in route. An empty response becomes an empty object. */
export async function post<T extends object>(route: string, body: object): Promise<T | RefusedSignIn> {
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }
  const response = await fetchPatiently(path + route, init)
  if (!response) return { problem: "The service cannot be reached. Try again.", reason: "unreachable" }
  const text = await response.text()
  const answer = (text === "" ? {} : JSON.parse(text)) as T & { message: string; details?: { reason?: string } }
  return response.ok ? answer : { problem: answer.message, reason: answer.details?.reason ?? "" }
}

/** Requests a code by mail. Returns the problem; empty on success. */
export async function requestCode(email: string, next: string): Promise<string> {
  const answer = await post("/code", { email, next })
  return "problem" in answer ? answer.problem : ""
}

/** Returns the reason for a refusal of the first owner's link; empty if the link works. */
export async function checkOwnerLink(code: string): Promise<string> {
  const answer = await post("", { code })
  return "problem" in answer && answer.reason !== "owner_unnamed" ? answer.problem : ""
}

/** `answer`: the response of a passkey. */
type Proof = { readonly key: string } | { readonly email_code: string } | { readonly link: string } | { readonly answer: object }

/** Returns the problem; empty on success. */
export async function signIn(proof: Proof): Promise<string> {
  const answer = await post("answer" in proof ? "/passkey" : "", proof)
  return "problem" in answer ? answer.problem : await refreshSession()
}

/** Signs in as the first owner, or requests a code by mail. Returns the problem; empty on success. */
export async function claimOwnership(
  code: string,
  name: string,
  email: string,
): Promise<{ readonly problem: string; readonly needsCode: boolean }> {
  const answer = await post<{ readonly expires_at?: string }>("", { code, name, email })
  if ("problem" in answer) return { problem: answer.problem, needsCode: false }
  const needsCode = answer.expires_at !== undefined
  return { problem: needsCode ? "" : await refreshSession(), needsCode }
}

// Passkeys in the browser: creating one for the account, and signing in with one.

/** Loaded with the first use. */
const library = () => import("@simplewebauthn/browser")

/** Returns true if the browser has passkeys for this page. */
export function hasPasskeys(): boolean {
  return isSecureContext && typeof PublicKeyCredential === "function" && !/^[\d.]+$|:/.test(location.hostname)
}

/** Creates a passkey with the options of the service. Returns the browser's response. Throws if the person declines. */
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
