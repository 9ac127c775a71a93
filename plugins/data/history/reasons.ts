// Error reasons of this plugin: stable words in `details.reason`.
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  trash_not_found: {
    code: "not_found",
    summary: "The trash has no such item. It keeps deleted items for 30 days.",
    remedy: "List the trash.",
  },
  version_not_found: {
    code: "not_found",
    summary: "The organization has no such version. Versions stay for a year.",
    remedy: "List the versions of the item.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
