// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  changed_meanwhile: { codes: ["aborted"], summary: "Something changed between planning and applying; plan again." },
  drift: { codes: ["failed_precondition"], summary: "What is stored was changed since the file was applied." },
  invalid_document: { codes: ["invalid_argument"], summary: "The document is not one." },
  literal_secret: { codes: ["invalid_argument"], summary: "A file holds a secret in clear." },
  no_fields: { codes: ["invalid_argument"], summary: "No field to change was given." },
  reserved_pipeline: { codes: ["invalid_argument"], summary: "The service itself made this pipeline; that cannot be changed." },
  slug_twice: { codes: ["invalid_argument"], summary: "Two documents have one slug." },
  unreachable: { codes: ["unavailable"], summary: "The other side could not be reached." },
})
