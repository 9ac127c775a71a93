// Values of `details.reason` in this plugin's errors.
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"
import { SendingDomainResource } from "./sending-domain.ts"

export const reasons = defineReasons({
  domain_refused: {
    code: "invalid_argument",
    summary: "The text is not a domain that somebody can own: no domain name, an IP address or a public suffix.",
    details: { fields: FieldProblems },
  },
  ...SendingDomainResource.reasons,
  sending_domain_registered: { code: "already_exists", summary: "The organization has registered this domain already." },
  sending_domain_disabled: {
    code: "failed_precondition",
    summary: "The domain is disabled, and is not checked.",
    remedy: "Enable it first.",
  },
  receiving_not_registered: {
    code: "failed_precondition",
    summary: "The domain was registered without receiving, which is fixed.",
    remedy: "Delete the domain and register it, or a subdomain, with receiving.",
  },
  receiving_conflict: {
    code: "failed_precondition",
    summary: "The domain had mail records of a mailbox provider when it was registered, so it cannot receive here.",
    remedy: "Register a subdomain with receiving.",
  },
  dns_unavailable: {
    code: "unavailable",
    summary: "DNS gave no answer, so it is not known whether the domain has mail records.",
    remedy: "Try again.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
