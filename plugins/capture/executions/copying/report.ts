// Writes an event as a Markdown report for debugging. Fields redacted in the journal stay redacted. Text from senders is fenced,
// and cannot close its fence.
import type { Json } from "#core"
import type { JournalEntry } from "#core/engine"
import { type CameIn, visible } from "./came-in.ts"

/** `came` is undefined if the payload is not stored. */
export function reportOf(entry: JournalEntry, came: CameIn | undefined): string {
  const { verdict, response, transformed, logs, schema_errors, warnings } = entry
  const parts: (string | undefined)[] = [
    `# Event ${entry.id}`,
    list(headOf(entry)),
    "## What came in",
    came ? fenced(came.body) : entry.payload_preview === "" ? "Its payload is not stored." : fenced(entry.payload_preview),
    came && Object.keys(came.headers).length > 0 ? list(Object.entries({ "content-type": came.contentType, ...came.headers })) : undefined,
    "## Verification",
    list([
      [verdict.ok ? "passed" : "refused", verdict.mode],
      ...(verdict.ok ? [] : ([[verdict.cause, verdict.message]] as const)),
      ...schema_errors.map(({ pointer, message }) => [`schema ${pointer || "/"}`, message] as const),
      ...warnings.map(({ pointer, message }) => [`dropped ${pointer}`, message] as const),
    ]),
    logs.length === 0 ? undefined : `## Log\n\n${fenced(logs.map(({ level, text }) => `${level}: ${text}`).join("\n"))}`,
    transformed === null ? undefined : `## Transformed\n\n${fenced(jsonOf(transformed))}`,
    stepsOf(entry),
    "## Reply",
    response ? `${response.status}\n\n${response.body === "" ? "" : fenced(response.body)}` : "None was sent.",
    "## Times",
    list(Object.entries(entry.timings).map(([stage, ms]) => [stage, `${ms} ms`])),
  ]
  return `${parts.filter((part) => part !== undefined && part !== "").join("\n\n")}\n`
}

function headOf({ pipeline_slug, revision, status, cause, error, ...entry }: JournalEntry): (readonly [string, string])[] {
  return [
    ["pipeline", `${pipeline_slug}, revision ${revision}`],
    ["status", cause === "" ? status : `${status} (${cause})`],
    ...(error ? ([["error", `${error.step ? `at ${error.step}: ` : ""}${error.message}`]] as const) : []),
    ["received", entry.received_at],
    ...(entry.is_test ? ([["test", "yes"]] as const) : []),
    ...(entry.replay_of ? ([["replay of", entry.replay_of]] as const) : []),
    ...(entry.repeat_of ? ([["repeat of", entry.repeat_of]] as const) : []),
    ...(entry.count > 1 ? ([["events alike", String(entry.count)]] as const) : []),
  ]
}

function stepsOf({ steps, rows }: JournalEntry): string | undefined {
  const all = Object.entries(steps)
  if (all.length === 0) return undefined
  const told = all.map(([id, { type, state, attempts, duration_ms, error, result }]) => {
    const lines = [`### ${id}`, list([[type, `${state}, ${attempts} attempts, ${duration_ms} ms`]])]
    if (error) lines.push(list([[error.code, error.message]]))
    if (result !== null) lines.push(fenced(jsonOf(result)))
    return lines.join("\n\n")
  })
  const written = rows.map(({ step, dataset, row_id }) => [`${step} wrote`, `${dataset} ${row_id}`] as const)
  return ["## Steps", ...told, ...(written.length > 0 ? [list(written)] : [])].join("\n\n")
}

function jsonOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2)
}

function list(facts: readonly (readonly [string, string])[]): string {
  return facts.map(([name, value]) => `- ${code(name)}: ${code(value)}`).join("\n")
}

function code(text: string): string {
  const line = visible(text).replaceAll(/[\r\n\t]+/g, " ")
  const ticks = "`".repeat(longest(line) + 1)
  return /^`|`$/.test(line) ? `${ticks} ${line} ${ticks}` : ticks + line + ticks
}

function fenced(text: string): string {
  const fence = "`".repeat(Math.max(3, longest(text) + 1))
  return `${fence}\n${visible(text)}\n${fence}`
}

/** Returns the length of the longest run of backticks. */
function longest(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map((row) => row.length))
}
