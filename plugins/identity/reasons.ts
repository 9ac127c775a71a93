// The stable words that this plugin's errors hold in `details.reason`.
import { z } from "zod"
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  session_ended: {
    code: "unauthenticated",
    summary: "The session has ended: by a sign-out, by its user or an admin, or by its age.",
    remedy: "Sign in again.",
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
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
