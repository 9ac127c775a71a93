// The rule split-leads-dataset (specification 4.18): leads of one customer that land in several datasets, because pipelines
// that upsert by email write to different ones. It takes several documents to see it: a save looks at those that are
// stored, `validate` at the files beside each other.
import type { CrossDocumentRule, LintedDocument } from "#core/engine"

/** Whether a column is called so that it holds emails: `email`, `work_mail`, `userEmailAddress`; not `voicemail`. */
function isEmailName(name: string): boolean {
  const words = name
    .replaceAll(/([a-z])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z]+/)
  const last = /^addr(ess)?$/.test(words.at(-1) ?? "") ? words.at(-2) : words.at(-1)
  return /^e?mail(addr(ess)?)?$/.test(last ?? "")
}

export interface LeadCapture {
  readonly slug: string
  readonly upserts: readonly { readonly dataset: string; readonly key: string }[]
  /** Names of the datasets it writes to, all qualified by their organization or none. */
  readonly targets: readonly string[]
  /** The document's steps and schema, from which its writes without a key are known. */
  readonly pipeline: readonly Readonly<Record<string, unknown>>[]
  readonly request_schema: unknown
}

/** The datasets that a pipeline writes leads into, as it names them: by a key whose values are emails, or rows that hold one. */
function leadDatasets({ upserts, pipeline, request_schema }: Omit<LeadCapture, "slug" | "targets">): string[] {
  const properties = propertiesOf(request_schema)
  const isEmail = (name: string) => isEmailName(name) || (properties[name] as { format?: unknown } | undefined)?.format === "email"
  const keyed = upserts.filter(({ key }) => isEmail(key)).map(({ dataset }) => dataset)
  const unkeyed = pipeline.flatMap(({ type, key, row, dataset_slug }) => {
    if (type !== "dataset.write" || key !== undefined || typeof dataset_slug !== "string") return []
    const columns = Object.keys(typeof row === "object" && row !== null ? row : properties)
    return columns.some(isEmail) ? [dataset_slug] : []
  })
  return [...new Set([...keyed, ...unkeyed])]
}

function propertiesOf(schema: unknown): Readonly<Record<string, unknown>> {
  const { properties } = (typeof schema === "object" && schema !== null ? schema : {}) as { properties?: unknown }
  return typeof properties === "object" && properties !== null ? (properties as Record<string, unknown>) : {}
}

/** The same among `targets`: what a pipeline beside it writes to, when it captures the same leads. */
export function leadTargets(saved: LeadCapture): string[] {
  const bare = new Set(leadDatasets(saved).map(bareDataset))
  return saved.targets.filter((target) => bare.has(bareDataset(target)))
}

/** What a save is told; `others` are the further active pipelines that capture records. undefined where all is well. */
export function splitLeadsWarning(
  saved: LeadCapture,
  others: readonly Pick<LeadCapture, "slug" | "targets">[],
): { readonly rule: "split-leads-dataset"; readonly message: string } | undefined {
  const byEmail = leadDatasets(saved)
  const own = new Set(leadTargets(saved))
  const split = others
    .filter(({ targets }) => !targets.some((target) => own.has(target)))
    .flatMap(({ slug, targets }) => targets.map((target) => ({ slug, target })))
  if (own.size === 0 || split.length === 0) return undefined
  const listed = split.slice(0, 5).map(({ slug, target }) => `"${slug}" to ${target}`)
  const suffixed = split.find(({ target }) => byEmail.some((dataset) => differsBySuffix(bareDataset(target), bareDataset(dataset))))
  const hint = suffixed ? ` ${suffixed.target} looks like the same dataset with a collision suffix.` : ""
  const message =
    `"${saved.slug}" writes leads to ${byEmail.join(", ")}, while other active lead-capture pipelines write to other datasets: ${listed.join(", ")}.` +
    `${hint} Point every lead-capture pipeline of one customer at one dataset, or disable the stale ones. If separate datasets are intended, name this rule in \`acknowledged_warnings\`.`
  return { rule: "split-leads-dataset", message }
}

/** `leads` of `acme.leads`. */
export function bareDataset(name: string): string {
  return name.slice(name.indexOf(".") + 1)
}

function differsBySuffix(a: string, b: string): boolean {
  const stem = (slug: string) => slug.replace(/-\d+$/, "")
  return a !== b && stem(a) === stem(b)
}

const write = (dataset: string, key: string) => `pipeline:\n  - { type: dataset.write, dataset_slug: ${dataset}, key: ${key} }`

export const splitLeads: CrossDocumentRule = {
  id: "split-leads-dataset",
  level: "warning",
  summary: "Leads of one organization that are split over several datasets.",
  why: "A person who submits two forms becomes two unrelated rows. The rule compares files that are validated together, and, on save, the active pipelines. Writes keyed by another column (payments, messages) are not leads and do not count.",
  remedy:
    "Point every pipeline that upserts by an email column at one dataset, or disable the stale ones. Where separate datasets are intended (bookings, demo requests), name the rule in the document: `acknowledged_warnings: [split-leads-dataset]`.",
  bad: `state: active\n${write("leads", "email")}\n---\nstate: active\n${write("leads-2", "email")}`,
  good: `state: active\n${write("leads", "email")}\n---\nstate: active\n${write("leads", "email")}\n---\nstate: active\n${write("payments", "payment")}`,
  check(document, others) {
    const own = document.active ? captureOf(document) : undefined
    if (!own || document.acknowledged.includes("split-leads-dataset")) return undefined
    // One that stands apart on purpose is apart from all.
    const captures = others
      .filter(({ active, slug, acknowledged }) => active && slug !== own.slug && !acknowledged.includes("split-leads-dataset"))
      .flatMap((other) => captureOf(other) ?? [])
    const warning = splitLeadsWarning(own, captures)
    return warning && { message: warning.message, pointer: pointerOf(document, leadDatasets(own)[0]) }
  },
}

/** undefined where it keeps no emails: what it writes are not leads. */
function captureOf({ slug, upserts, writesTo, pipeline, request_schema }: LintedDocument): LeadCapture | undefined {
  const capture = { slug, upserts, pipeline, request_schema, targets: writesTo.map(bareDataset) }
  const targets = leadTargets(capture)
  return targets.length === 0 ? undefined : { ...capture, targets }
}

/** The field of the first step that names the dataset. */
function pointerOf({ pipeline }: LintedDocument, dataset: string | undefined): string {
  for (const [index, step] of pipeline.entries()) {
    const field = Object.keys(step).find((key) => step[key] === dataset)
    if (field !== undefined) return `/pipeline/${index}/${field.replaceAll("~", "~0").replaceAll("/", "~1")}`
  }
  return "/pipeline"
}
