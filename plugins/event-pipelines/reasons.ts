// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  event_pipeline_not_found: { codes: ["not_found"], summary: "There is no such event pipeline." },
  stale_plan: { codes: ["aborted"], summary: "Pipelines changed between planning and applying; plan again." },
  documents_refused: { codes: ["failed_precondition"], summary: "Documents are not valid; findings tell why." },
  drift: { codes: ["failed_precondition"], summary: "The stored pipeline was changed since the file was applied." },
  invalid_document: { codes: ["invalid_argument"], summary: "The document is not a pipeline document." },
  literal_secret: { codes: ["invalid_argument"], summary: "A file holds a secret in plain text." },
  no_fields: { codes: ["invalid_argument"], summary: "No field to change was given." },
  read_only_field: { codes: ["invalid_argument"], summary: "A read-only field was given another value." },
  reserved_pipeline: { codes: ["invalid_argument"], summary: "This field of a pipeline that the service made is read-only." },
  duplicate_slug: { codes: ["invalid_argument"], summary: "Two documents have one slug." },
  unreachable: { codes: ["unavailable"], summary: "The server could not be reached." },
})
