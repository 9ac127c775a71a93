// Error reasons of this plugin (`details.reason`).
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  approval_not_found: { code: "not_found", summary: "The organization has no such approval." },
  approval_damaged: { code: "data_loss", summary: "What is kept is not what was approved, and is not carried out." },
  already_decided: {
    code: "failed_precondition",
    summary: "The approval is not pending: it was decided, or it expired.",
    remedy: "Read it; what was asked for can be asked for again.",
  },
  subject_gone: {
    code: "failed_precondition",
    summary: "No loaded plugin declares the operation, action or job that waits, so an edited input cannot be checked.",
    remedy: "Load its plugin again, or reject what waits.",
  },
  decider_not_a_person: {
    code: "permission_denied",
    summary: "Tokens, agents and services do not decide.",
    remedy: "Sign in, or use an API key of a user.",
  },
  own_request: {
    code: "permission_denied",
    summary: "The request and the decider have one root, user or manager, or the organization requires a second person.",
    remedy: "Let another admin decide. In an organization with one admin, sign in by email code or passkey and decide.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
