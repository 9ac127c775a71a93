// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  column_not_indexed: { codes: ["invalid_argument"], summary: "The column is not indexed, so it cannot filter or sort." },
  dataset_archived: { codes: ["failed_precondition"], summary: "The dataset is archived." },
  dataset_not_found: { codes: ["not_found"], summary: "There is no such dataset." },
  dataset_reserved: { codes: ["failed_precondition", "invalid_argument"], summary: "The dataset is reserved for the service." },
  key_column_mismatch: { codes: ["failed_precondition"], summary: "The dataset has another key column." },
  key_missing: { codes: ["invalid_argument"], summary: "The row has no value in its key column." },
  row_not_found: { codes: ["not_found"], summary: "The dataset has no such row." },
  row_not_storable: { codes: ["invalid_argument"], summary: "The row holds a value that cannot be stored." },
})
