// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  credential_expired: { codes: ["unauthenticated"], summary: "The key expired." },
  credential_revoked: { codes: ["unauthenticated"], summary: "The key was revoked." },
  key_not_found: { codes: ["not_found"], summary: "The organization has no such key." },
  owner_not_a_member: { codes: ["unauthenticated"], summary: "The key's owner is no longer a member of the organization." },
  malformed_credential: { codes: ["unauthenticated"], summary: "The key is not one of this service's." },
  credential_checksum_mismatch: { codes: ["unauthenticated"], summary: "The key's checksum does not match." },
  no_organization: { codes: ["failed_precondition"], summary: "There is no organization to act in." },
  organization_not_accessible: { codes: ["not_found"], summary: "This credential has no access to the organization." },
  self_management: { codes: ["invalid_argument"], summary: "An organization cannot manage itself." },
  unknown_credential: { codes: ["unauthenticated"], summary: "The key is not known." },
})
