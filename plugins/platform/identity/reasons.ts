// Error reasons of this plugin (`details.reason`).
import { z } from "zod"
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  session_ended: {
    code: "unauthenticated",
    summary: "The session has ended: by a sign-out, by its user or an admin, or by its age.",
    remedy: "Sign in again.",
  },
  email_taken: { code: "already_exists", summary: "Another user has the address.", remedy: "Give another address." },
  sign_in_code_unknown: {
    code: "unauthenticated",
    summary: "The first owner's link was used, or its ten minutes are over.",
    remedy: "Sign in by mail or with a key, or print a new link with `millrace sign-in-link`.",
  },
  owner_unnamed: {
    code: "invalid_argument",
    summary: "The first owner's link came without a name and an address.",
    remedy: "Send `code`, `name` and `email`.",
  },
  address_needs_proof: {
    code: "failed_precondition",
    summary: "The user has an address; another one needs a proof by mail.",
    remedy: "Change the address by mail.",
  },
  session_not_found: { code: "not_found", summary: "The caller has no such session.", remedy: "List the sessions." },
  no_person: {
    code: "permission_denied",
    summary: "The credential belongs to no person, or acts in a managed organization.",
    remedy: "Use a session, or a key that a person created.",
  },
  sign_in_code_wrong: {
    code: "unauthenticated",
    summary: "The sign-in code is wrong.",
    remedy: "Copy the code of the latest mail.",
    details: { tries_left: z.int().describe("Tries before the code ends.") },
  },
  sign_in_code_ended: {
    code: "unauthenticated",
    summary: "The sign-in code or link was used, is too old, was mistyped five times, or belongs to another browser.",
    remedy: "Ask for a new code.",
  },
  too_many_sign_in_codes: {
    code: "resource_exhausted",
    summary: "The address or the network asked for too many sign-in codes in an hour.",
    remedy: "Wait for `Retry-After`, or sign in with a key.",
    details: { retry_after_s: z.int().describe("Seconds until the next code.") },
  },
  not_a_person: {
    code: "permission_denied",
    summary: "The call needs a person who signed in; the credential is a key, a token, or a session opened with a key.",
    remedy: "Sign in by mail or passkey.",
  },
  passkeys_unavailable: {
    code: "failed_precondition",
    summary: "Browsers refuse passkeys for the public URL of the service.",
    remedy: "Set `server.public_url` to an https URL with a host name.",
  },
  passkey_answer_invalid: {
    code: "invalid_argument",
    summary: "The answer of the authenticator does not fit the service, the session or its latest challenge.",
    remedy: "Ask for new options and repeat.",
  },
  passkey_refused: {
    code: "unauthenticated",
    summary: "The passkey is unknown, or its answer does not fit the service or the challenge of this browser.",
    remedy: "Try again, or sign in by mail.",
  },
  passkey_not_found: { code: "not_found", summary: "The caller has no such passkey.", remedy: "List the passkeys." },
  address_code_wrong: {
    code: "invalid_argument",
    summary: "The code for a new address is wrong.",
    remedy: "Copy the code of the latest mail.",
    details: { tries_left: z.int().describe("Tries before the code ends.") },
  },
  address_code_ended: {
    code: "invalid_argument",
    summary: "No change of address waits for the code: it was used, is too old, or was mistyped five times.",
    remedy: "Ask for the change again.",
  },
  too_many_passkeys: { code: "resource_exhausted", summary: "The person has twenty passkeys.", remedy: "Remove a passkey." },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
