// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  knowledge_not_found: { code: "not_found", summary: "The organization has no such knowledge item.", remedy: "List the items." },
  knowledge_version_not_found: { code: "not_found", summary: "The item has no such version, or it is not kept any more." },
  knowledge_content_refused: {
    code: "invalid_argument",
    summary: "The content is given not at all, in several ways, or in a form that its type does not have.",
    details: { fields: FieldProblems },
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
