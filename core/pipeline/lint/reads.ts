// Checks the reads of templates against the available roots, envelope fields and results of finished steps. A template that never
// resolves is an error for every event.
import { z } from "zod"
import { didYouMean } from "../../kernel/guess.ts"
import { knownFields } from "../../kernel/known-fields.ts"
import type { Report } from "../compile/report.ts"
import type { Draft } from "../compile/steps.ts"
import type { PlacedRead } from "../template.ts"

const roots = ["event", "payload", "query", "envelope", "steps", "item", "pipeline", "organization"]
const envelopeFields = [
  ...["page_url", "artifact_id", "variant", "session_id", "visitor_id", "utm_source", "utm_medium", "utm_campaign", "utm_term"],
  ...["utm_content", "click_id", "click_id_type", "received_at", "is_test", "event_id", "event_type", "device_type", "browser"],
  ...["in_app", "language", "country", "region", "city"],
]
/** Roots available to the dedupe key. */
export const dedupeRoots: readonly string[] = ["payload", "query", "headers", "envelope", "pipeline", "organization"]
const dedupeEnvelope = ["event_id", "event_type", "received_at"]
const fixedFields: Record<string, readonly string[]> = {
  envelope: envelopeFields,
  pipeline: ["id", "slug", "name", "endpoint_id"],
  organization: ["id", "slug"],
}

export interface ReadScope {
  /** All steps and handlers. */
  readonly byId: ReadonlyMap<string, Draft>
  /** Returns the steps with results available to the draft. Returns undefined if the order is unknown. */
  readonly visible: (draft: Draft) => ReadonlySet<string> | undefined
}

export function lintReads(draft: Draft, scope: ReadScope, report: Report): void {
  for (const read of draft.reads) {
    const name = [read.root, ...read.path].join(".")
    if (read.root === "steps") lintStepRead(draft, read, name, scope, report)
    else if (read.root === "item") lintItem(draft, read, report)
    else if (read.root === "headers") report.add("template-never-resolves", read.pointer, '"headers" can be read by the dedupe key only.')
    else if (!roots.includes(read.root)) {
      report.add("template-never-resolves", read.pointer, `"${read.root}" does not exist, so it cannot be read.${hintOf(read.root, roots)}`)
    } else lintField(read, name, report)
  }
}

export function lintDedupeReads(reads: readonly PlacedRead[], report: Report): void {
  for (const { root, path, pointer } of reads) {
    const field = String(path[0] ?? "")
    if (root === "event") {
      report.add("template-never-resolves", pointer, 'The dedupe key is made before the transform; read "payload" instead of "event".')
    } else if (!dedupeRoots.includes(root)) {
      report.add("template-never-resolves", pointer, `A dedupe key cannot read "${root}".${hintOf(root, dedupeRoots)}`)
    } else if (root === "envelope" && path.length > 0 && !dedupeEnvelope.includes(field)) {
      report.add("template-never-resolves", pointer, `A dedupe key cannot read "envelope.${field}".${hintOf(field, dedupeEnvelope)}`)
    }
  }
}

function lintItem(draft: Draft, read: PlacedRead, report: Report): void {
  const inForEach = read.pointer === `${draft.pointer}/for_each` || read.pointer === `${draft.pointer}/when`
  if (draft.common.for_each !== undefined && !inForEach) return
  report.add("template-never-resolves", read.pointer, '"item" exists only in the fields of a step with "for_each".')
}

function lintField(read: PlacedRead, name: string, report: Report): void {
  const field = read.path[0]
  if (field === undefined) return
  const known = fixedFields[read.root]
  if (!known || known.includes(String(field)) || field === "size") return
  report.add(
    "template-never-resolves",
    read.pointer,
    `"${name}" never has a value: "${read.root}" has no such field.${hintOf(String(field), known)}`,
  )
}

function lintStepRead(draft: Draft, read: PlacedRead, name: string, scope: ReadScope, report: Report): void {
  const id = read.path[0]
  if (id === undefined) return
  const source = scope.byId.get(String(id))
  if (!source) {
    report.add(
      "reads-non-ancestor",
      read.pointer,
      `"${name}" reads a step that does not exist.${hintOf(String(id), [...scope.byId.keys()])}`,
    )
    return
  }
  const visible = scope.visible(draft)
  if (visible && !visible.has(source.id)) {
    const message =
      source === draft
        ? `"${name}" reads the step's own result, which does not exist yet.`
        : `"${name}" reads "${source.id}", which may not have finished. Add it to "needs".`
    report.add("reads-non-ancestor", read.pointer, message)
    return
  }
  lintResultField(source, read, name, report)
}

function lintResultField(source: Draft, read: PlacedRead, name: string, report: Report): void {
  const field = read.path[1]
  if (field === undefined || !source.action) return
  if (source.common.for_each !== undefined) {
    if (typeof field === "number" || ["size", "first", "last"].includes(field)) return
    report.add("template-never-resolves", read.pointer, `"${name}" never has a value: the result of a step with "for_each" is a list.`)
    return
  }
  const { result } = source.action
  if (!(result instanceof z.ZodObject) || (result.def.catchall !== undefined && result.def.catchall._zod.def.type !== "never")) return
  const known = knownFields(result, [])
  if (known.includes(String(field)) || field === "size") return
  const hint = hintOf(String(field), known)
  report.add("template-never-resolves", read.pointer, `"${name}" never has a value: "${source.type}" gives no such field.${hint}`)
}

export function hintOf(word: string, known: readonly string[]): string {
  return didYouMean(word, known) || (known.length > 0 && known.length <= 30 ? ` There are: ${known.join(", ")}.` : "")
}
