// Formats a plan for the terminal: one line per pipeline, followed by its changed fields.
import { isDeepStrictEqual, styleText } from "node:util"
import type { Json } from "#core"
import { lineDiff, yamlLines } from "../line-diff.ts"

export interface FieldChange {
  readonly field: string
  readonly before: Json
  readonly after: Json
}

export interface PlannedChange {
  readonly slug: string
  readonly path: string
  readonly action: "create" | "change" | "disable" | "unchanged" | "refused"
  readonly changes: readonly FieldChange[]
  readonly drift: { readonly message: string; readonly changes: readonly FieldChange[] } | null
  readonly needs_force: readonly string[]
  readonly problems: readonly string[]
  readonly warnings: readonly string[]
}

export interface Plan {
  readonly changes: readonly PlannedChange[]
  readonly blocked: boolean
}

const signs = { create: "+", change: "~", disable: "-", unchanged: "=", refused: "!" } as const
const colours = { create: "green", change: "yellow", disable: "red", unchanged: "dim", refused: "red" } as const
/** Actions in the past tense, for an applied plan. */
const done = { create: "created", change: "changed", disable: "disabled", unchanged: "unchanged", refused: "refused" } as const

export function planText({ changes }: Plan, { applied = false }: { applied?: boolean } = {}): string {
  const shown = changes.filter(
    ({ action, drift, warnings }) => action !== "unchanged" || (drift !== null && !applied) || warnings.length > 0,
  )
  const blocks = shown.map((change) => changeText(change, applied))
  const counts = (["create", "change", "disable", "unchanged", "refused"] as const)
    .map((action) => [action, changes.filter((change) => change.action === action).length] as const)
    .filter(([, count]) => count > 0)
    .map(([action, count]) => `${count} ${applied ? done[action] : action === "unchanged" ? "unchanged" : `to ${action}`}`)
    .map((text) => text.replace("to refuse", "refused").replace("refusedd", "refused"))
  return [...blocks, counts.length > 0 ? counts.join(", ") : "No pipelines."].join("\n")
}

function changeText({ slug, path, action, changes, drift, needs_force, problems, warnings }: PlannedChange, applied: boolean): string {
  const origin = path === "" ? "its file was removed" : path
  const head =
    styleText(colours[action], `${signs[action]} ${(applied ? done[action] : action).padEnd(10)} ${slug}`) + styleText("dim", `  ${origin}`)
  const lines = action === "create" ? [] : changes.flatMap(fieldLines)
  const drifted = drift && !applied ? [styleText("red", `! ${drift.message}`), ...drift.changes.flatMap(fieldLines)] : []
  const forced = applied ? [] : needs_force
  const more = [
    ...[...forced, ...problems].map((text) => styleText("red", text)),
    ...warnings.map((text) => styleText("yellow", `warning: ${text}`)),
  ]
  return [head, ...[...lines, ...drifted, ...more].map((line) => line.replace(/^/gm, "    "))].join("\n")
}

function fieldLines({ field, before, after }: FieldChange): string[] {
  const plain = (value: Json) =>
    value === null || typeof value === "number" || typeof value === "boolean" || (typeof value === "string" && !value.includes("\n"))
  // Redacted values look the same on both sides.
  if (isDeepStrictEqual(before, after)) return [`${field}: changed`]
  if (plain(before) && plain(after)) return [`${field}: ${shown(before)} → ${shown(after)}`]
  return [`${field}:`, ...lineDiff(yamlLines(before), yamlLines(after)).map((line) => `  ${line}`)]
}

function shown(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value)
}
