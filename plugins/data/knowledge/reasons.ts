// Error reasons of this plugin: stable words in `details.reason`.
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"
import { KnowledgeResource } from "./item.ts"

export const reasons = defineReasons({
  ...KnowledgeResource.reasons,
  knowledge_version_not_found: { code: "not_found", summary: "The item has no such version, or it is not kept any more." },
  upload_not_found: { code: "not_found", summary: "The upload does not exist, or has expired.", remedy: "Ask for another link." },
  upload_awaited: { code: "failed_precondition", summary: "Nothing was uploaded to the link yet.", remedy: "Send the document first." },
  upload_taken: {
    code: "failed_precondition",
    summary: "The link has taken a document already, or an item was made of it.",
    remedy: "Ask for another link.",
  },
  upload_link_refused: { code: "permission_denied", summary: "The upload link is not one that was given, or has expired." },
  upload_empty: { code: "invalid_argument", summary: "The uploaded document is empty." },
  uploads_busy: { code: "unavailable", summary: "This node receives as many uploads as it can.", remedy: "Try again." },
  knowledge_content_refused: {
    code: "invalid_argument",
    summary: "The content is given not at all, in several ways, or in a form that its type does not have.",
    details: { fields: FieldProblems },
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
