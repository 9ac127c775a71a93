// Replays recent journalled events through the service's document and the file's document, and shows the differences. Both run
// dry on this machine, without calls or writes.
import { styleText } from "node:util"
import { AppError, type Json } from "#core"
import { PipelineHarness, type Rehearsal } from "#core/commands"
import { PipelineDocument, PipelineEngine, type StoredPipeline } from "#core/engine"
import { lineDiff, yamlLines } from "../line-diff.ts"
import type { Remote } from "../remote.ts"

export interface ReplayedPipeline {
  readonly slug: string
  readonly events: number
  /** Journal entries read for the search, including repeats and replays. */
  readonly scanned: number
  /** Scanned events without a stored payload: expired, or never stored because verification failed. */
  readonly without_payload: number
  readonly differing: readonly { readonly execution: string; readonly before: Json; readonly after: Json }[]
}

export interface ReplayArgs {
  readonly slug: string
  readonly document: PipelineDocument
  readonly count: number
  readonly remote: Remote
  readonly rehearsal: Rehearsal
}

export async function replayPipeline({ slug, document, count, remote, rehearsal }: ReplayArgs): Promise<ReplayedPipeline> {
  const current = PipelineDocument.parse(documentOf(await remote.call<Record<string, unknown>>("GET", `/v1/event-pipelines/${slug}`)))
  const harness = await PipelineHarness.for(rehearsal, [current, document])
  const [before, after] = [
    await tried(harness, { ...current, slug: `${slug}-before` }, slug),
    await tried(harness, { ...document, slug: `${slug}-after` }, slug),
  ]
  const differing: { execution: string; before: Json; after: Json }[] = []
  let [events, looked, missing] = [0, 0, 0]
  for await (const { id, replay_of, repeat_of } of remote.executions(slug)) {
    if (events === count || looked === maxLookedThrough(count)) break
    looked++
    if (replay_of !== null || repeat_of !== null) continue
    const event = await remote.payload(slug, id).catch((error: unknown) => {
      if (error instanceof AppError && error.code === "failed_precondition") return undefined
      throw error
    })
    if (!event) {
      missing++
      continue
    }
    events++
    const query = Object.fromEntries(Object.entries(event.query).map(([name, value]) => [name, String(value)]))
    const origin = { id, receivedAt: Date.parse(event.received_at), eventId: event.event_id ?? "", eventType: event.event_type ?? "" }
    const dry = { body: event.body, headers: event.headers, query, origin }
    const [one, other] = [await outcomeOf(rehearsal, before, dry), await outcomeOf(rehearsal, after, dry)]
    if (JSON.stringify(one) !== JSON.stringify(other)) differing.push({ execution: id, before: one, after: other })
  }
  return { slug, events, scanned: looked, without_payload: missing, differing }
}

/**
 * Returns the maximum number of scanned entries. The search passes over many entries without a payload, but ends in a journal
 * full of them.
 */
function maxLookedThrough(count: number): number {
  return 10 * count + 1_000
}

/** Returns the document of a pipeline resource. */
function documentOf(resource: Record<string, unknown>): Record<string, unknown> {
  const { auth_config, ...rest } = Object.fromEntries(
    Object.keys(PipelineDocument.shape).flatMap((key) => (key in resource ? [[key, resource[key]]] : [])),
  )
  const { secret: _, ...config } = (auth_config ?? {}) as Record<string, unknown>
  return { ...rest, auth_config: config }
}

/**
 * Creates the pipeline together with its datasets. Then restores its slug and name, so both documents look the same to templates
 * and rows.
 */
async function tried(harness: PipelineHarness, document: PipelineDocument, slug: string): Promise<StoredPipeline> {
  const { stored } = await harness.make(document)
  return { ...stored, slug, document: { ...stored.document, name: document.name } }
}

async function outcomeOf(rehearsal: Rehearsal, pipeline: StoredPipeline, event: Parameters<PipelineEngine["dryRun"]>[1]): Promise<Json> {
  try {
    const { schema_errors, transformed, effects, steps } = await rehearsal.runtime.container.get(PipelineEngine).dryRun(pipeline, event)
    if (schema_errors.length > 0) return { verdict: "rejected", schema_errors: [...schema_errors] }
    const failed = steps.filter((step) => (step as { state?: string }).state === "failed")
    const rows = effects.rows.map((row) => ({ ...(row as Record<string, Json>) }))
    const verdict = failed.length > 0 && effects.response === null ? "failed" : "accepted"
    return plain({
      verdict,
      transformed: transformed === null ? null : "(an event)",
      rows,
      sends: effects.sends,
      broadcasts: effects.broadcasts,
      response: effects.response,
      failed,
    })
  } catch (error) {
    if (error instanceof AppError) return { verdict: "failed", message: error.message }
    throw error
  }
}

/** Removes durations and message IDs: they differ in every run. */
function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value, (key, one: unknown) => (key === "duration_ms" || key === "message_id" ? undefined : one))) as Json
}

const shownEvents = 5

export function replayText(replayed: readonly ReplayedPipeline[]): string {
  return replayed.map(pipelineText).join("\n")
}

function pipelineText({ slug, events, scanned, without_payload, differing }: ReplayedPipeline): string {
  const left = without_payload > 0 ? ` (${scanned} scanned, ${without_payload} skipped without a stored payload)` : ""
  const counts = `${slug}: ${differing.length} of ${events} replayed events would differ${left}`
  const shown = differing.slice(0, shownEvents).map(({ execution, before, after }) => {
    const lines = changedLines(lineDiff(yamlLines(before), yamlLines(after)))
    return [`  ${styleText("dim", execution)}`, ...lines.map((line) => `    ${line}`)].join("\n")
  })
  const more = differing.length > shownEvents ? [`  … and ${differing.length - shownEvents} more`] : []
  return [differing.length > 0 ? styleText("yellow", counts) : counts, ...shown, ...more].join("\n")
}

/** Returns the changed lines and the unchanged line before each change. */
function changedLines(lines: readonly string[]): string[] {
  return lines.filter((line, index) => !line.startsWith("  ") || lines[index + 1]?.startsWith("  ") === false)
}
