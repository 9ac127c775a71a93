// Error reasons of this plugin: stable words in `details.reason`.
import { z } from "zod"
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  already_expired: { code: "failed_precondition", summary: "The link would have expired already.", remedy: "Give a later time." },
  separate_bucket_folders: {
    code: "failed_precondition",
    summary: "Nodes of one store keep files in different folders.",
    remedy: "Set an S3 bucket on every node, or mount one folder on all of them.",
  },
  invalid_bucket_key: { code: "invalid_argument", summary: "The key is not a valid bucket key.", details: { fields: FieldProblems } },
  invalid_signature: { code: "permission_denied", summary: "The link's signature does not match.", remedy: "Ask for a new link." },
  bucket_unavailable: {
    code: "unavailable",
    summary: "The bucket's storage cannot be reached.",
    remedy: "Retry; see the bucket's settings if it persists.",
  },
  link_expired: { code: "permission_denied", summary: "The link has expired.", remedy: "Ask for a new link." },
  link_ttl_too_long: {
    code: "out_of_range",
    summary: "The link would be valid for too long.",
    remedy: "Ask for a shorter time.",
    details: { max_ms: z.int().describe("The limit, in milliseconds.") },
  },
  object_not_found: { code: "not_found", summary: "The object does not exist.", remedy: "Check the key." },
  object_too_large: {
    code: "resource_exhausted",
    summary: "The object is too large.",
    remedy: "Store less, or raise the limit in the settings.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
