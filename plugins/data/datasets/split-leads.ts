// The rule split-leads-dataset: an organization's lead pipelines write to different datasets. The rule needs several documents. A
// save compares the stored documents, and `validate` compares the given files.
import type { CrossDocumentRule, LintedDocument } from "#core/engine"
import { personColumn } from "./person-columns.ts"

/** Returns true if a column name refers to email addresses or phone numbers. */
function namesPerson(name: string): boolean {
  const { field } = personColumn(name)
  return field === "email" || field === "phone"
}

/** A pipeline that may capture leads. */
export interface RecordWriter {
  readonly slug: string
  readonly upserts: readonly { readonly dataset: string; readonly key: string }[]
  /** Names of written datasets, either all with their organization or all without. */
  readonly targets: readonly string[]
  /** Steps and schema of the document. They show writes without a key. */
  readonly pipeline: readonly Readonly<Record<string, unknown>>[]
  readonly request_schema: unknown
}

/** A pipeline that captures leads. */
export interface LeadCapture {
  readonly slug: string
  /** Lead datasets, with their names in the document. */
  readonly datasets: readonly string[]
  /** The same datasets, with their names in the writer's targets. */
  readonly targets: readonly string[]
}

/** Returns undefined if the pipeline stores no emails or phone numbers: its rows are not leads. */
export function leadCapture(writer: RecordWriter): LeadCapture | undefined {
  const datasets = leadDatasets(writer)
  const bare = new Set(datasets.map(bareDataset))
  const targets = writer.targets.filter((target) => bare.has(bareDataset(target)))
  return targets.length === 0 ? undefined : { slug: writer.slug, datasets, targets }
}

/** Returns datasets keyed by email or phone, and datasets whose unkeyed rows may contain either. */
function leadDatasets({ upserts, pipeline, request_schema }: RecordWriter): string[] {
  const properties = propertiesOf(request_schema)
  const isPersonal = (name: string) => namesPerson(name) || (properties[name] as { format?: unknown } | undefined)?.format === "email"
  const keyed = upserts.filter(({ key }) => isPersonal(key)).map(({ dataset }) => dataset)
  const unkeyed = pipeline.flatMap(({ type, key, row, dataset_slug }) => {
    if (type !== "dataset.write" || key !== undefined || typeof dataset_slug !== "string") return []
    const columns = Object.keys(typeof row === "object" && row !== null ? row : properties)
    // Without a row and a schema, the sender determines the columns.
    return columns.length === 0 || columns.some(isPersonal) ? [dataset_slug] : []
  })
  return [...new Set([...keyed, ...unkeyed])]
}

function propertiesOf(schema: unknown): Readonly<Record<string, unknown>> {
  const { properties } = (typeof schema === "object" && schema !== null ? schema : {}) as { properties?: unknown }
  return typeof properties === "object" && properties !== null ? (properties as Record<string, unknown>) : {}
}

/** Maximum number of other pipelines named in the message. */
const maxListed = 5

/**
 * Returns the warning for a save, or undefined without a conflict. `others` are the active lead pipelines; `saved` is ignored
 * among them.
 */
export function splitLeadsWarning(
  saved: LeadCapture,
  others: readonly LeadCapture[],
): { readonly rule: "split-leads-dataset"; readonly message: string } | undefined {
  const own = new Set(saved.targets)
  const stems = saved.datasets.map(bareDataset).map((dataset) => ({ dataset, stem: stemOf(dataset) }))
  const hasSuffix = (target: string) =>
    stems.some(({ dataset, stem }) => target !== dataset && target.startsWith(stem) && stemOf(target) === stem)
  const problems: string[] = []
  let suffixed: string | undefined
  for (const { slug, targets } of others) {
    if (slug === saved.slug || targets.some((target) => own.has(target))) continue
    for (const target of targets) {
      if (problems.length < maxListed) problems.push(`"${slug}" to ${target}`)
      if (suffixed === undefined && hasSuffix(bareDataset(target))) suffixed = target
    }
    if (problems.length >= maxListed && suffixed !== undefined) break
  }
  if (problems.length === 0) return undefined
  const hint = suffixed === undefined ? "" : ` ${suffixed} looks like the same dataset with a collision suffix.`
  const message =
    `"${saved.slug}" writes leads to ${saved.datasets.join(", ")}, while other active lead-capture pipelines write to other datasets: ${problems.join(", ")}.` +
    `${hint} Point every lead-capture pipeline of one customer at one dataset, or disable the stale ones. If separate datasets are intended, name this rule in \`acknowledged_warnings\`.`
  return { rule: "split-leads-dataset", message }
}

/** Returns `leads` for `acme.leads`. */
export function bareDataset(name: string): string {
  return name.slice(name.indexOf(".") + 1)
}

/** Returns `leads` for `leads-2`. */
function stemOf(dataset: string): string {
  return dataset.replace(/-\d+$/, "")
}

const write = (dataset: string, key: string) => `pipeline:\n  - { type: dataset.write, dataset_slug: ${dataset}, key: ${key} }`

export const splitLeads: CrossDocumentRule = {
  id: "split-leads-dataset",
  level: "warning",
  summary: "Leads of one organization that are split over several datasets.",
  why: "A person who submits two forms becomes two unrelated rows. The rule compares files that are validated together, and, on save, the active pipelines. Leads are rows keyed by an email or phone column, and unkeyed rows that may hold one. Rows keyed by another column, for example payments, do not count.",
  remedy:
    "Point every pipeline that captures leads at one dataset, or disable the stale ones. If separate datasets are intended (bookings, demo requests), name the rule in the document: `acknowledged_warnings: [split-leads-dataset]`.",
  bad: `state: active\n${write("leads", "email")}\n---\nstate: active\n${write("leads-2", "email")}`,
  good: `state: active\n${write("leads", "email")}\n---\nstate: active\n${write("leads", "email")}\n---\nstate: active\n${write("payments", "payment")}`,
  check(documents) {
    const captures = documents.map(captureOf)
    const all = captures.filter((capture) => capture !== undefined)
    return documents.map((document, index) => {
      const own = captures[index]
      const warning = own && splitLeadsWarning(own, all)
      return warning && { message: warning.message, pointer: pointerOf(document, own.datasets[0]) }
    })
  },
}

/** An acknowledged document is excluded from all comparisons. */
function captureOf({ slug, active, acknowledged, upserts, writesTo, pipeline, request_schema }: LintedDocument): LeadCapture | undefined {
  if (!active || acknowledged.includes("split-leads-dataset")) return undefined
  return leadCapture({ slug, upserts, pipeline, request_schema, targets: writesTo.map(bareDataset) })
}

/** Returns the first step field with the dataset's name. */
function pointerOf({ pipeline }: LintedDocument, dataset: string | undefined): string {
  for (const [index, step] of pipeline.entries()) {
    const field = Object.keys(step).find((key) => step[key] === dataset)
    if (field !== undefined) return `/pipeline/${index}/${field.replaceAll("~", "~0").replaceAll("/", "~1")}`
  }
  return "/pipeline"
}
