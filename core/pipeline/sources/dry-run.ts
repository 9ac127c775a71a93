// A dry run: the real schema, transform, templates and staging, and nothing after. Actions that would reach outside say
// what they would send instead.

import type { Json } from "../../contract/collection.ts"
import { timestamp } from "../../kernel/clock.ts"
import { AppError } from "../../kernel/errors.ts"
import type { DryRun } from "../engine.ts"
import { acceptedReply } from "../event/answer.ts"
import type { LivePipeline } from "../event/loaded-pipelines.ts"
import { understand } from "../event/transform.ts"
import type { Step } from "../graph.ts"
import { Execution } from "../run/execution.ts"
import { attemptStep, type StepServices } from "../run/step.ts"
import { StepBudget } from "../template/renderer.ts"
import type { InternalServices } from "./internal.ts"

export interface DryEvent {
  readonly payload: Json
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  /** Of an event that came before: its id stands for the execution's, so that what is made of it is the same each time. */
  readonly origin?: { readonly id: string; readonly receivedAt: number; readonly eventId?: string; readonly eventType?: string }
}

type Services = Pick<InternalServices, "sandbox" | "config" | "clock" | "ids" | "log"> & { readonly step: StepServices }

const noEvent: Pick<DryRun, "transformed" | "steps" | "would"> = {
  transformed: null,
  steps: [],
  would: { rows: [], send: [], broadcast: [], answer: null },
}

export async function dryRun(live: LivePipeline, event: DryEvent, services: Services): Promise<DryRun> {
  const { sandbox, config, clock, ids } = services
  const headers = lowerCased(event.headers ?? {})
  const query = event.query ?? {}
  const { origin } = event
  const id = origin?.id ?? ids.uuid()
  const now = origin?.receivedAt ?? clock.now()
  const verdict: Json = {
    checked: false,
    mode: live.stored.document.auth_mode,
    message: "A dry run does not verify; it starts after authentication.",
  }
  const incoming = {
    live,
    body: JSON.stringify(event.payload),
    rawHeaders: headers,
    headers,
    query,
    receivedAt: now,
    seed: id,
    eventId: origin?.eventId ?? "",
    eventType: origin?.eventType ?? "",
    wantsPayload: true,
  }
  const understood = await understand(incoming, sandbox, config.inbound.geo)
  if (!understood.ok) {
    if ("errors" in understood)
      return { verdict, schema_errors: understood.errors.map(({ pointer, message }) => ({ pointer, message })), ...noEvent }
    throw new AppError(understood.kind === "unavailable" ? "unavailable" : "failed_precondition", understood.message, {
      reason: `transform_${understood.kind}`,
    })
  }
  const { event: transformed, envelope, stamp, payload } = understood
  if (transformed === null) return { verdict, schema_errors: [], ...noEvent, would: { ...noEvent.would, answer: acceptedReply(id) } }
  const fixed = {
    id,
    originId: id,
    identity: id,
    receivedAt: timestamp(now),
    depth: 0,
    signal: new AbortController().signal,
    log: services.log,
  }
  const execution = new Execution({ ...fixed, stored: live.stored, graph: live.graph, event: transformed, payload, query, envelope, stamp })
  const would = await rehearse(execution, live, services.step)
  return {
    verdict,
    schema_errors: [],
    transformed,
    steps: Object.entries(execution.steps).map(([step, record]) => ({ id: step, ...record }) as unknown as Json),
    would,
  }
}

/** Stages what commit actions stage and previews what deferred ones would send, in the order of the graph. */
async function rehearse(execution: Execution, live: LivePipeline, services: StepServices): Promise<DryRun["would"]> {
  const send: Json[] = []
  const broadcast: Json[] = []
  for (const step of [...live.graph.immediate, ...live.graph.deferred]) {
    if (step.action.timing === "deferred") send.push(...(await preview(execution, step, services)))
    else {
      if (step.action.broadcastsTo) broadcast.push(...(await preview(execution, step, services)))
      const outcome = await attemptStep(execution, step, 1, services, execution.work, execution.args.signal)
      if (outcome.ok) {
        if ("skipped" in outcome) execution.skipped(step)
        else execution.finished(step, 1, 0, outcome.result)
      } else {
        execution.failed(step, 1, 0, { code: outcome.error.code, message: outcome.error.message })
        if (step.onError === "fail") return { rows: [], send: [], broadcast: [], answer: null }
      }
    }
  }
  return { rows: rowsOf(execution), send, broadcast, answer: execution.reply ?? acceptedReply(execution.args.id) }
}

/** What the step would do, once an element; nothing when its condition says no. Records the step as it goes. */
async function preview(execution: Execution, step: Step, { renderer }: StepServices): Promise<Json[]> {
  const budget = new StepBudget(execution.args.stored.organization.id, execution)
  try {
    if (step.when && !(await renderer.render(step.when, execution.scope, budget))) {
      execution.skipped(step)
      return []
    }
    const items = step.forEach && (await renderer.render(step.forEach, execution.scope, budget))
    const scopes = items ? items.map((item) => ({ ...execution.scope, item })) : [execution.scope]
    const shown: Json[] = []
    for (const scope of scopes) {
      const config: unknown = await renderer.render(step.config, scope, budget)
      const would = step.action.preview ? step.action.preview(config as never) : (config as Json)
      shown.push({ step: step.id, type: step.action.type, would })
    }
    execution.pending(step)
    return shown
  } catch (error) {
    execution.failed(step, 1, 0, { code: error instanceof AppError ? error.code : "unknown", message: (error as Error).message })
    return []
  }
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
