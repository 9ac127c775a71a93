// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  credential_expired: { codes: ["unauthenticated"], summary: "The key expired." },
  credential_revoked: { codes: ["unauthenticated"], summary: "The key was revoked." },
  owner_not_a_member: { codes: ["unauthenticated"], summary: "The key's owner is no longer a member of the organization." },
  malformed_credential: { codes: ["unauthenticated"], summary: "The key is not one of this service's." },
  credential_checksum_mismatch: { codes: ["unauthenticated"], summary: "The key's checksum does not match." },
  no_organization: { codes: ["failed_precondition"], summary: "There is no organization to act in." },
  organization_not_accessible: { codes: ["not_found"], summary: "This credential has no access to the organization." },
  unknown_credential: { codes: ["unauthenticated"], summary: "The key is not known." },
})
