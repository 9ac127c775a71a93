// Error reasons of this plugin: stable words in `details.reason`.
import { z } from "zod"
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"
import { DatasetResource } from "./dataset.ts"

export const reasons = defineReasons({
  column_not_indexed: {
    code: "invalid_argument",
    summary: "The column is not indexed, so it cannot filter or sort.",
    remedy: "Filter by an indexed column, or ask for fewer rows.",
    details: { indexed_columns: z.array(z.string()).describe("The columns that are indexed."), fields: FieldProblems },
  },
  dataset_archived: { code: "failed_precondition", summary: "The dataset is archived.", remedy: "Make the dataset active again." },
  ...DatasetResource.reasons,
  dataset_reserved: {
    code: "failed_precondition",
    summary: "The dataset is reserved for the service.",
    remedy: "Use another dataset.",
    details: { fields: FieldProblems },
  },
  key_column_mismatch: {
    code: "failed_precondition",
    summary: "The dataset has another key column.",
    remedy: "Write with the key column that the dataset has.",
    details: { key: z.string().describe("The key column that the dataset has.") },
  },
  key_missing: {
    code: "invalid_argument",
    summary: "The row has no value in its key column.",
    remedy: "Give the key column a value.",
    details: { fields: FieldProblems },
  },
  row_not_found: { code: "not_found", summary: "The dataset has no such row.", remedy: "List the rows." },
  row_not_storable: {
    code: "invalid_argument",
    summary: "The row holds a value that cannot be stored.",
    details: { fields: FieldProblems },
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
