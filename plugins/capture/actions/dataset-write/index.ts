// The action `dataset.write`, as a plugin.
import { z } from "zod"
import {
  type ActionFinding,
  AppError,
  defineAction,
  definePlugin,
  isRecord,
  type Json,
  type LintRule,
  RowResult,
  type StepWarning,
  templateRecord,
} from "#core"
import { childPointer } from "#core/engine"
import { asColumns, columnOf, DatasetReference, Datasets, problemOfName, type RenamedField } from "../../../data/datasets/index.ts"
import { reasons } from "./reasons.ts"

export default definePlugin({
  id: "action-dataset-write",
  reasons,
  needs: ["datasets"],
  config: z.strictObject({}),
  register: (reg) => reg.actions(datasetWrite),
})

// Columns stamped at ingestion. A row receives a stamped value only if its own value is absent or null. `is_test` has its own
// rule. Pure.

/** Columns of every row, even if the pipeline does not write them. */
const stampedNames: readonly string[] = [
  ...["variant", "artifact_id", "page_url", "is_test", "device_type", "browser", "in_app", "language", "country", "region", "city"],
]

/** Returns a copy of the row with the missing columns. A test marker always sets `is_test`; otherwise the row's own boolean counts. */
function stamped(row: Readonly<Record<string, Json>>, stamp: Readonly<Record<string, Json>>, marked: boolean): Record<string, Json> {
  const values: Record<string, Json> = { ...row }
  for (const name in stamp) {
    const value = stamp[name]
    if (value !== undefined && (values[name] === undefined || values[name] === null)) values[name] = value
  }
  values["is_test"] = marked || values["is_test"] === true
  return values
}

/** Lint rules of dataset.write, in addition to its schema. */
const datasetWriteRules = {
  "column-name": {
    level: "error",
    summary: "An invalid column name.",
    why: "A name that is empty, starts with `$` or contains a dot has a special meaning in the storage; the step would fail for every event.",
    remedy: "Rename the column.",
    bad: 'pipeline:\n  - { type: dataset.write, dataset_slug: leads, key: email, row: { email: "{{ event.email }}", utm.source: "{{ envelope.utm_source }}" } }',
    good: 'pipeline:\n  - { type: dataset.write, dataset_slug: leads, key: email, row: { email: "{{ event.email }}", utm_source: "{{ envelope.utm_source }}" } }',
  },
  "key-not-in-row": {
    level: "error",
    summary: "The key column is not among the columns written.",
    why: "A keyed write needs a value in its key column; without one the step fails for every event.",
    remedy: "Add the column to `row`; or leave `row` out to write the event as it is, and let the transform return the column.",
    bad: 'pipeline:\n  - { type: dataset.write, dataset_slug: leads, key: email, row: { name: "{{ event.name }}" } }',
    good: 'pipeline:\n  - { type: dataset.write, dataset_slug: leads, key: email, row: { email: "{{ event.email }}", name: "{{ event.name }}" } }',
  },
} as const satisfies Record<string, LintRule>

const Column = z
  .string()
  .min(1)
  .refine((name) => problemOfName(name) === undefined, {
    error: (issue) => `the column name ${problemOfName(String(issue.input)) ?? "is not valid"}`,
  })

/** Writes the event as one row of a dataset. With a key column, the row is inserted or updated. */
export const datasetWrite = defineAction({
  type: "dataset.write",
  summary: "Write a row to a dataset.",
  description:
    "A field with an invalid column name is stored under a valid one: `1.3` becomes `1_3`. The journal entry names both. With `key`, rows are upserted by that column, and the newest event wins in any order of arrival; without, each event is a new row. Columns of the page envelope, device and location are stamped where the row leaves them unset.",
  timing: "commit",
  idempotency: "exactly_once",
  config: z.strictObject({
    dataset_slug: DatasetReference,
    key: Column.optional().describe("Column to upsert by; the same for every writer of the dataset."),
    row: templateRecord().optional().describe("Columns to write; the event when absent."),
  }),
  result: RowResult,
  examples: [
    {
      title: "Keep one row per person, by email",
      yaml: `type: dataset.write
dataset_slug: leads
key: email
`,
    },
    {
      title: "Choose the columns",
      yaml: `type: dataset.write
dataset_slug: signups
row:
  email: "{{ event.email }}"
  budget: "{{ event.budget }}"
  source: website
`,
    },
  ],
  inject: { datasets: Datasets },
  writesTo: (config) => [config.dataset_slug],
  keyedBy: (config) => config.key,
  rules: datasetWriteRules,
  lint({ key, row }, event): readonly ActionFinding[] {
    const names = namesOf(row?.source)
    const findings = names.flatMap((name) => {
      const problem = problemOfName(name)
      return problem
        ? [{ rule: "column-name", level: "error" as const, message: `The column name ${JSON.stringify(name)} ${problem}.`, field: "row" }]
        : []
    })
    if (key !== undefined && row && ![...names, ...stampedNames].includes(key)) {
      const message = `"row" has no column "${key}", by which this step upserts; every event would fail. Add it to "row".`
      findings.push({ rule: "key-not-in-row", level: "error", message, field: "row" })
    } else if (key !== undefined && !row && event?.exact && ![...event.names.map(columnOf), ...stampedNames].includes(key)) {
      const message = `No event has a field "${key}", by which this step upserts; every event would fail. There are: ${event.names.join(", ")}.`
      findings.push({ rule: "key-not-in-row", level: "error", message, field: "key" })
    }
    return findings
  },
  faultsIn(sent, { details }, { isTransformed }) {
    if (details.reason === "event_not_an_object") return isRecord(sent) ? [] : [{ path: [], message: "The event must be an object." }]
    if (details.reason !== "key_missing" || !isRecord(sent)) return []
    const column = details.fields?.[0]?.path ?? ""
    const given = Object.keys(sent).find((name) => columnOf(name) === column)
    // A transform builds the column from fields with other names.
    if (given === undefined && isTransformed) return []
    return [{ path: [given ?? column], message: "The field identifies the record, so it must hold text or a number." }]
  },
  run({ config, deps, context, work, warn }) {
    const { organization, originId, stepId, itemIndex, receivedAt, dataSince, envelope, stamp, pipeline } = context
    const { values: row, renamed } = asColumns(rowOf(config.row ?? context.event), stampedColumns)
    const values = stamped(row, stamp, envelope.is_test)
    const origin = { executionId: originId, stepId, itemIndex, receivedAt, pipeline: pipeline.slug }
    const write = () => {
      const written = deps.datasets.write(work, { organization, dataset: config.dataset_slug, key: config.key, values, origin })
      for (const warning of warningsOf(renamed)) warn(warning)
      return written
    }
    return dataSince === undefined ? write() : deps.datasets.requireWritable(organization.id, [values], dataSince).then(write)
  },
})

const stampedColumns: ReadonlySet<string> = new Set(stampedNames)
const maxWarnings = 20
const maxShown = 80

/** Returns a warning with the new column name for each renamed field, up to the limit of a journal entry. */
function warningsOf(renamed: readonly RenamedField[]): StepWarning[] {
  const warnings = renamed.slice(0, maxWarnings).map(({ name, column, problem }) => {
    const shown = name.slice(0, maxShown).toWellFormed()
    return { pointer: childPointer("", shown), message: `Stored in the column "${column.slice(0, maxShown)}": the name ${problem}.` }
  })
  const more = renamed.length - warnings.length
  return more > 0 ? [...warnings, { pointer: "", message: `${more} further fields are stored in columns of other names.` }] : warnings
}

function rowOf(event: Json): Readonly<Record<string, Json>> {
  if (isRecord(event)) return event
  const what = Array.isArray(event)
    ? "a list; use for_each to write each element"
    : `${JSON.stringify(event)}; let the transform return an object`
  throw new AppError("invalid_argument", `A row is an object of columns, and the event is ${what}, or give "row".`, {
    reason: "event_not_an_object",
    retryable: false,
  })
}

function namesOf(source: Json | undefined): string[] {
  return isRecord(source) ? Object.keys(source) : []
}
