// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  already_expired: { codes: ["failed_precondition"], summary: "The link would have expired already." },
  bad_bucket_key: { codes: ["invalid_argument"], summary: "The key is not one that a bucket takes." },
  bad_signature: { codes: ["permission_denied"], summary: "The link's signature is not right." },
  bucket_unavailable: { codes: ["unavailable"], summary: "The bucket's storage cannot be reached." },
  link_expired: { codes: ["permission_denied"], summary: "The link has expired." },
  link_too_long: { codes: ["out_of_range"], summary: "The link would be valid for too long." },
  object_gone: { codes: ["not_found"], summary: "The object is no longer there." },
  object_too_large: { codes: ["resource_exhausted"], summary: "The object is larger than is taken." },
})
