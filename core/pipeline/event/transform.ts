// The transform stage: schema and transform in the sandbox, then the page envelope and the stamped columns.

import { setImmediate } from "node:timers/promises"
import type { Json } from "../../contract/collection.ts"
import { PageEnvelope } from "../../contract/envelope.ts"
import { workGoesOn } from "../../kernel/request-scope.ts"
import { noteLogs, noteTransformed } from "../journal/draft.ts"
import type { EntryWarning } from "../journal/entry.ts"
import { wantsContext } from "../sandbox/job.ts"
import type { MappedResult, Sandbox, SandboxCall, SandboxResult } from "../sandbox/sandbox.ts"
import { envelopeOf, type Stamper, stampedColumns } from "../stamp/stamp.ts"
import type { EventContext } from "./event.ts"

export type SandboxFailure = SandboxResult & { ok: false }

export interface TransformServices {
  readonly sandbox: Sandbox
  readonly stamp: Stamper
  /** Returns the payload even if no template reads it. */
  readonly wantsPayload?: boolean
}

/**
 * Sets event, payload, envelope and stamp of the context. Returns the failure of the sandbox, if any. Returns a promise only for
 * asynchronous work.
 */
export function transform(event: EventContext, services: TransformServices): Promise<SandboxFailure | undefined> | undefined {
  const { loaded, visible, stored, graph } = event
  const received_at = event.receivedAt
  const call: SandboxCall = {
    organization: stored.organization.id,
    pipelineId: stored.id,
    program: loaded.program,
    body: visible.body,
    context: wantsContext(loaded.program)
      ? JSON.stringify({ headers: visible.headers, query: visible.query, envelope: event.envelopeOverride ?? {}, received_at })
      : "{}",
    receivedAt: event.request?.receivedAt ?? Date.parse(received_at),
    seed: event.originId,
    wantsPayload: services.wantsPayload === true || graph.reads.payload,
  }
  const mapped = services.sandbox.map(call)
  if (mapped) return accepted(event, mapped, services.stamp)
  return services.sandbox.run(call).then((result) => {
    if (result.logs) noteLogs(event.entry, result.logs)
    return result.ok ? accepted(event, result, services.stamp) : result
  })
}

function accepted(event: EventContext, result: MappedResult, stamp: Stamper): Promise<undefined> | undefined {
  if (isLarge(result.event)) return acceptLarge(event, result, stamp)
  accept(event, result, stamp, { payload: parsed(result.payload), event: parsed(result.event) })
  return undefined
}

/** Parses each text in its own turn. */
async function acceptLarge(event: EventContext, result: MappedResult, stamp: Stamper): Promise<undefined> {
  await ownTurn()
  const payload = parsed(result.payload)
  if (payload !== null) await ownTurn()
  const made = parsed(result.event)
  await ownTurn()
  accept(event, result, stamp, { payload, event: made })
  return undefined
}

function parsed(text: string | null): Json {
  return text === null ? null : (JSON.parse(text) as Json)
}

interface Parsed {
  readonly payload: Json
  readonly event: Json
}

function accept(event: EventContext, result: MappedResult, stamp: Stamper, made: Parsed): void {
  const { entry, envelopeOverride } = event
  const page = result.envelope === null ? {} : readEnvelope(JSON.parse(result.envelope) as Json, entry.warnings)
  const pageEnvelope: PageEnvelope = envelopeOverride ? { ...page, ...envelopeOverride } : page
  if (result.isTest === true) event.isTest = true
  const request = stamp(event.rawHeaders)
  event.event = made.event
  event.payload = made.payload
  event.envelope = envelopeOf(pageEnvelope, request, {
    received_at: event.receivedAt,
    is_test: event.isTest,
    event_id: entry.verdict.event_id ?? "",
    event_type: entry.verdict.event_type ?? "",
  })
  event.stamp = stampedColumns(pageEnvelope, request, event.isTest)
  entry.is_test = event.isTest
  if (holdsLostText(result.event)) entry.warnings.push(lostText)
  noteTransformed(entry, event.event, result.event, event.envelope)
}

const lostText: EntryWarning = {
  pointer: "",
  message: "The event holds U+FFFD, which stands for text that was lost: by its sender, in the body, or in a cut of the transform.",
}

function holdsLostText(json: string): boolean {
  return json.includes("\uFFFD") || json.includes("\\ufffd") || json.includes("\\uFFFD")
}

const fields = Object.entries(PageEnvelope.shape)

/** Parses each field separately. An invalid field is dropped with a warning, and the event continues. Null means unset. */
function readEnvelope(given: Json, warnings: EntryWarning[]): PageEnvelope {
  const whole = PageEnvelope.safeParse(given)
  if (whole.success) return whole.data
  const page: Record<string, string> = {}
  for (const [name, schema] of fields) {
    const value = (given as Record<string, Json>)[name]
    if (value === undefined || value === null) continue
    const read = schema.safeParse(value)
    if (read.success && read.data !== undefined) page[name] = read.data
    else warnings.push({ pointer: `/_envelope/${name}`, message: `Dropped: ${read.error?.issues[0]?.message ?? "not a string"}.` })
  }
  return page
}

/** Bytes or characters. A shorter text takes less time than a turn of the event loop. */
const largeLength = 65_536

/** Each stage of a large event takes milliseconds. It starts in its own turn, so other work runs between stages. */
export function isLarge(text: { readonly length: number }): boolean {
  return text.length >= largeLength
}

/** Resolves in the next turn of the event loop. */
export async function ownTurn(): Promise<void> {
  await setImmediate()
  workGoesOn()
}
