// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  already_expired: { codes: ["failed_precondition"], summary: "The link would have expired already." },
  invalid_bucket_key: { codes: ["invalid_argument"], summary: "The key is not a valid bucket key." },
  invalid_signature: { codes: ["permission_denied"], summary: "The link's signature does not match." },
  bucket_unavailable: { codes: ["unavailable"], summary: "The bucket's storage cannot be reached." },
  link_expired: { codes: ["permission_denied"], summary: "The link has expired." },
  link_ttl_too_long: { codes: ["out_of_range"], summary: "The link would be valid for too long." },
  object_not_found: { codes: ["not_found"], summary: "There is no such object." },
  object_too_large: { codes: ["resource_exhausted"], summary: "The object is too large." },
})
