// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  column_not_indexed: { codes: ["invalid_argument"], summary: "The column cannot be filtered or sorted by." },
  dataset_archived: { codes: ["failed_precondition"], summary: "The dataset is archived." },
  dataset_not_found: { codes: ["not_found"], summary: "There is no such dataset." },
  dataset_reserved: { codes: ["failed_precondition", "invalid_argument"], summary: "The dataset is the service's own." },
  key_column_differs: { codes: ["failed_precondition"], summary: "The dataset's key column is another." },
  key_missing: { codes: ["invalid_argument"], summary: "The row has no value in its key column." },
  row_not_storable: { codes: ["invalid_argument"], summary: "The row holds what cannot be stored." },
})
