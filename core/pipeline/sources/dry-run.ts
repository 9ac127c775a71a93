// A dry run uses the event processor with a committer that only reports. Schema, transform, templates and staging are real.
// Outbound actions return a preview instead.
import type { Json } from "../../contract/collection.ts"
import { PageEnvelope } from "../../contract/envelope.ts"
import { AppError } from "../../kernel/errors.ts"
import type { DryEvent, DryRun } from "../engine.ts"
import type { Committer } from "../event/commit.ts"
import { EventContext } from "../event/event.ts"
import { EventProcessor, type ProcessorServices } from "../event/process.ts"
import type { Step } from "../graph.ts"
import type { Execution, Failure } from "../run/execution.ts"
import { renderedConfigs } from "../run/gated-step.ts"
import { type ImmediateServices, runImmediate } from "../run/immediate.ts"
import type { Intents } from "../run/intents.ts"
import { recordOutcome, type StepOutcome } from "../run/step.ts"
import type { StoredPipeline } from "../source.ts"
import type { TemplateRenderer } from "../template/renderer.ts"
import { newEntry, type SourceServices } from "./source-services.ts"

/** Stores no data and sends no announcement. */
const report: Committer = {
  takesOwnEntry: () => true,
  fold: (_stored, entry) => entry.id,
  entryOnly: async () => undefined,
  commit: async () => undefined,
  announce: () => undefined,
}

const noIntents: Intents = { begin: async () => undefined, finish: () => undefined }

const noEffects: DryRun["effects"] = { rows: [], sends: [], broadcasts: [], response: null }

export class DryRunSource {
  readonly #services: SourceServices
  readonly #processor: (sends: Json[]) => EventProcessor
  readonly #renderer: TemplateRenderer

  constructor(services: SourceServices, parts: ProcessorServices & { readonly immediate: Omit<ImmediateServices, "intents"> }) {
    this.#services = services
    this.#renderer = parts.immediate.renderer
    this.#processor = (sends) => {
      const rehearse = (execution: Execution, step: Step) => rehearsed(execution, step, parts.immediate.renderer, sends)
      const immediate = { ...parts.immediate, intents: noIntents, rehearse }
      const run = (execution: Execution) => runRehearsed(execution, immediate)
      return new EventProcessor({ ...parts, commit: report, run, wantsPayload: true, observe: () => undefined })
    }
  }

  async run(stored: StoredPipeline, given: DryEvent): Promise<DryRun> {
    const { pipelines } = this.#services
    const loaded = await pipelines.require(stored)
    const { origin } = given
    const entry = newEntry(this.#services, loaded, origin ? { id: origin.id, receivedAtMs: origin.receivedAt } : {})
    entry.verdict = { ...entry.verdict, ok: true, event_id: origin?.eventId ?? null, event_type: origin?.eventType ?? null }
    const headers = lowerCased(given.headers ?? {})
    const visible = { body: given.body, headers, query: { ...given.query } }
    const event = new EventContext({ loaded, entry, headers, visible, isTest: origin?.isTest === true })
    if (origin?.envelope) event.envelopeOverride = PageEnvelope.parse(origin.envelope)
    const sends: Json[] = []
    const processor = this.#processor(sends)
    await processor.process(event, processor.again)
    if (event.fault) throw event.fault
    return await reportOf(event, sends, this.#renderer)
  }
}

async function reportOf(event: EventContext, sends: Json[], renderer: TemplateRenderer): Promise<DryRun> {
  const { entry, execution } = event
  const verdict: Json = {
    checked: false,
    mode: event.stored.document.auth_mode,
    message: "A dry run does not verify; it starts after authentication.",
  }
  const schema_errors = entry.schema_errors as unknown as Json[]
  const { logs } = entry
  const told = { verdict, schema_errors, warnings: entry.warnings as unknown as Json[], logs, transformed: event.event }
  if (entry.status === "rejected") return { ...told, transformed: null, steps: [], effects: noEffects }
  if (!execution) {
    const details = { reason: "transform_failed", cause: entry.cause, ...(logs.length > 0 && { logs }) } as const
    throw new AppError("failed_precondition", entry.error?.message ?? "", details)
  }
  const steps = Object.entries(execution.steps).map(([id, record]) => ({ id, ...record }) as unknown as Json)
  if (event.failure) return { ...told, steps, effects: noEffects }
  const broadcasts = await broadcastsOf(execution, renderer)
  const effects = { rows: rowsOf(execution), sends, broadcasts, response: event.reply ?? null }
  return { ...told, steps, effects }
}

/** Runs the graph up to the reply, then previews the deferred steps. */
async function runRehearsed(execution: Execution, services: ImmediateServices): Promise<Failure | null> {
  const failure = await runImmediate(execution, services)
  if (failure) return failure
  for (const step of execution.input.graph.deferred) {
    if (execution.steps[step.id]?.state !== "pending") continue
    const outcome = await services.rehearse?.(execution, step)
    if (outcome) recordOutcome(execution, step, outcome, 1, services.clock.monotonic(), services.clock)
  }
  return null
}

/** Replaces a deferred action with previews of its effects, one per element. */
async function rehearsed(execution: Execution, step: Step, renderer: TemplateRenderer, sends: Json[]): Promise<StepOutcome> {
  try {
    const shown = await previews(execution, step, renderer)
    if (!shown) return { ok: true, skipped: true }
    sends.push(...shown)
    return { ok: true, pending: true }
  } catch (error) {
    const { code, details } = error instanceof AppError ? error : { code: "unknown" as const, details: { reason: "action_error" } }
    const told = { code, message: (error as Error).message, details: { ...details, retryable: false } }
    return { ok: false, error: AppError.from(told, { cause: error }) }
  }
}

/** Returns undefined if the step's condition is false. */
async function previews(execution: Execution, step: Step, renderer: TemplateRenderer): Promise<Json[] | undefined> {
  const configs = await renderedConfigs(execution, step, renderer)
  return configs?.map((config) => {
    const preview = step.action.preview ? step.action.preview(config as never) : (config as Json)
    return { step: step.id, type: step.action.type, preview, ...(step.gated ? { gated: true } : {}) }
  })
}

async function broadcastsOf(execution: Execution, renderer: TemplateRenderer): Promise<Json[]> {
  const steps = execution.input.graph.immediate.filter(({ id, action }) => action.broadcastsTo && execution.steps[id]?.state === "done")
  const shown = await Promise.all(steps.map((step) => previews(execution, step, renderer)))
  return shown.flatMap((each) => each ?? [])
}

function rowsOf(execution: Execution): Json[] {
  return execution.rows.map((row) => {
    const write = execution.work.writes.find((one) => "doc" in one && one.doc.id === row.row_id)
    const values = write && "doc" in write ? ((write.doc as unknown as { values?: Json }).values ?? null) : null
    return { ...row, values }
  })
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
