// Error reasons of this plugin: stable words in `details.reason`.
import { z } from "zod"
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"

const maxBytes = z.int().describe("The limit in bytes.")

export const reasons = defineReasons({
  file_too_large: {
    code: "resource_exhausted",
    summary: "A file of the form is too large, or all files together are.",
    remedy: "Send smaller files, or raise the limit in the settings.",
    details: { fields: FieldProblems, max_bytes: maxBytes },
  },
  file_quota_exceeded: {
    code: "resource_exhausted",
    summary: "The stored files of the pipeline or the organization reach their limit.",
    remedy: "Wait until older files expire, or raise the limit in the settings.",
    details: { max_bytes: maxBytes },
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
