// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  credential_expired: { codes: ["unauthenticated"], summary: "The key expired." },
  credential_revoked: { codes: ["unauthenticated"], summary: "The key was revoked." },
  maker_left: { codes: ["unauthenticated"], summary: "The key's maker is no longer a member of the organization." },
  malformed_credential: { codes: ["unauthenticated"], summary: "The key is not one of this service's." },
  mistyped_credential: { codes: ["unauthenticated"], summary: "The key's checksum does not match." },
  no_organization: { codes: ["failed_precondition"], summary: "No organization is there to act in." },
  organization_out_of_reach: { codes: ["not_found"], summary: "The organization is not one that this credential reaches." },
  unknown_credential: { codes: ["unauthenticated"], summary: "The key is not known." },
})
