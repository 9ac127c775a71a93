// Formats one event for the terminal, stage by stage.
import { styleText } from "node:util"
import type { Json } from "#core"
import { asJson, type EventOutcome, type SentEvent } from "#core/commands"
import { previewOfValue } from "#core/engine"
import { lineDiff, yamlLines } from "../line-diff.ts"
import type { Taken } from "./event-file.ts"

/** Response to every outgoing call, because `run` contacts no other system. */
export const madeUpAnswer = { status: 200, headers: { "content-type": "application/json" }, body: "{}" }

export function storyOf(
  name: string,
  { sent, kind }: Pick<Taken, "sent" | "kind">,
  outcome: EventOutcome,
  notes: readonly string[],
): string {
  const { entry, response } = outcome
  const { timings, verdict } = entry
  const blocks = [
    `${styleText("bold", name)}  ${styleText("dim", entry.id)}`,
    stage(
      "received",
      `${sent.method}, ${sent.body.length} bytes, ${sent.headers["content-type"] ?? "no content type"}${kind === "body" ? "; the file is the body" : ""}`,
    ),
    stage("verdict", verdict.ok ? good(`verified (${verdict.mode})`) : bad(`${verdict.cause}: ${verdict.message}`), timings["verify"]),
    ...(verdict.ok ? understood(sent, outcome) : []),
    ...steps(outcome),
    ...effects(outcome),
    ...notes.map((note) => stage("note", styleText("yellow", note))),
    stage("answered", `${response.status} ${shown(response.body)}`),
    stage(
      "journal",
      `${entry.status === "accepted" ? good("accepted") : bad(entry.status)}${entry.cause ? `, ${entry.cause}` : ""}${entry.error ? `: ${entry.error.message}` : ""}`,
      total(timings),
    ),
  ]
  return blocks.join("\n")
}

function understood(sent: SentEvent, { entry }: EventOutcome): string[] {
  const problems = entry.schema_errors.map(({ pointer, message }) => `    ${bad(`${pointer || "/"}: ${message}`)}`)
  const schema = problems.length > 0 ? [stage("schema", bad("does not fit")), ...problems] : [stage("schema", good("fits"))]
  const logs = entry.logs.map(({ level, text }) => stage("log", level === "error" ? bad(oneLine(text)) : oneLine(text)))
  if (problems.length > 0 || entry.cause.startsWith("transform_")) return [...schema, ...logs]
  const body = sent.headers["content-type"] === "application/x-www-form-urlencoded" ? formOf(sent) : asJson(sent.body.toString("utf8"))
  // Cut like the entry, so the diff shows only the transform's changes.
  const before = previewOfValue(body, JSON.stringify(body))
  if (entry.transformed === null) return [...schema, ...logs, stage("transform", "null: accepted, no step runs", entry.timings["sandbox"])]
  const diff = lineDiff(yamlLines(before), yamlLines(entry.transformed)).map((line) => `    ${line}`)
  return [...schema, ...logs, stage("transform", "", entry.timings["sandbox"]), ...diff]
}

function formOf(sent: SentEvent): Json {
  return Object.fromEntries(new URLSearchParams(sent.body.toString("utf8")))
}

const marks: Readonly<Record<string, string>> = { done: "✓", skipped: "-", failed: "✗", pending: "…", running: "…" }

function steps({ entry, calls }: EventOutcome): string[] {
  const all = Object.entries(entry.steps)
  if (all.length === 0) return []
  const width = Math.max(...all.map(([id]) => id.length))
  const lines = all.map(([id, step]) => {
    const { type, state, attempts, duration_ms } = step
    const tries = attempts > 1 ? `, ${attempts} tries` : ""
    const mark = state === "failed" ? bad(marks[state] ?? "") : state === "done" ? good(marks[state] ?? "") : (marks[state] ?? "")
    const said = saidOf(step, calls.length > 0)
    return `    ${mark} ${id.padEnd(width)}  ${type.padEnd(16)} ${state}${tries} ${took(duration_ms)}  ${said}`.trimEnd()
  })
  return [stage("steps", "", entry.timings["run"]), ...lines]
}

function saidOf({ state, result, error, skipped_after }: EventOutcome["entry"]["steps"][string], hasCalled: boolean): string {
  if (state === "skipped") return styleText("dim", skipped_after === undefined ? "its `when` is false" : `"${skipped_after}" failed`)
  if (error) return bad(error.message)
  return state === "done" ? shown(result) + (hasCalled && isMadeUp(result) ? madeUp : "") : ""
}

const madeUp = styleText("yellow", " (made up: nothing was sent)")

/** Returns true if the step's result is the canned response. */
function isMadeUp(result: Json): boolean {
  const { status, body } = (result ?? {}) as { status?: Json; body?: Json }
  return status === madeUpAnswer.status && JSON.stringify(body) === madeUpAnswer.body
}

function effects({ rows, mails, calls, broadcasts }: EventOutcome): string[] {
  return [
    ...rows.map(({ dataset, values }) => stage("would write", `${dataset}  ${shown(values)}`)),
    ...mails.map((mail) => stage("would mail", `${mail.to.join(", ")}  "${mail.subject}"`)),
    ...calls.map(({ method, url, body }) =>
      stage(
        "would call",
        `${method} ${url}${body === null ? "" : `  ${shown(asJson(body))}`}  -> ${madeUpAnswer.status} ${madeUpAnswer.body}${madeUp}`,
      ),
    ),
    ...broadcasts.map(({ channel, event, data }) => stage("would tell", `${channel} (${event})  ${shown(data)}`)),
  ]
}

function stage(title: string, text: string, milliseconds?: number): string {
  return `  ${styleText("cyan", title.padEnd(12))} ${text}${milliseconds === undefined ? "" : ` ${took(milliseconds)}`}`.trimEnd()
}

function took(milliseconds: number): string {
  return styleText("dim", `${milliseconds < 10 ? milliseconds.toFixed(2) : Math.round(milliseconds)} ms`)
}

function total(timings: Readonly<Record<string, number>>): number {
  return Object.values(timings).reduce((sum, one) => sum + one, 0)
}

function shown(value: Json): string {
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}

/** Returns a script's text without control characters, which a terminal could run as commands. */
function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, " ")
}

function good(text: string): string {
  return styleText("green", text)
}

function bad(text: string): string {
  return styleText("red", text)
}
