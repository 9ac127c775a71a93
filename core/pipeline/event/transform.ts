// The transform stage: schema and transform in the sandbox, then the page envelope and the stamped columns.
import type { Json } from "../../contract/collection.ts"
import { PageEnvelope } from "../../contract/envelope.ts"
import type { CoreConfig } from "../../kernel/config-schema.ts"
import { noteTransformed } from "../journal/draft.ts"
import type { EntryWarning } from "../journal/entry.ts"
import { wantsContext } from "../sandbox/program.ts"
import type { Sandbox, SandboxResult } from "../sandbox/sandbox.ts"
import { envelopeOf, stampedColumns, stampOf } from "../stamp/stamp.ts"
import type { EventContext } from "./event.ts"

export type SandboxFailure = SandboxResult & { ok: false }

export interface TransformServices {
  readonly sandbox: Sandbox
  readonly geo: CoreConfig["inbound"]["geo"]
  /** Whether the payload is wanted back even where no template reads it. */
  readonly wantsPayload?: boolean
}

/** Leaves event, payload, envelope and stamp in the context. Resolves to what the sandbox refused it with. */
export function transform(event: EventContext, services: TransformServices): Promise<SandboxFailure | undefined> {
  const { loaded, visible, stored, graph } = event
  const received_at = event.receivedAt
  return services.sandbox
    .run({
      organization: stored.organization.id,
      pipelineId: stored.id,
      program: loaded.program,
      body: visible.body,
      context: wantsContext(loaded.program)
        ? JSON.stringify({ headers: visible.headers, query: visible.query, envelope: event.envelopeOverride ?? {}, received_at })
        : "{}",
      receivedAt: event.request?.receivedAt ?? Date.parse(received_at),
      executionId: event.originId,
      wantsPayload: services.wantsPayload === true || graph.reads.payload,
    })
    .then((result) => {
      if (!result.ok) return result
      accept(event, result, services.geo)
      return undefined
    })
}

function accept(event: EventContext, result: SandboxResult & { ok: true }, geo: TransformServices["geo"]): void {
  const { entry, envelopeOverride } = event
  const page = result.envelope === null ? {} : readEnvelope(JSON.parse(result.envelope) as Json, entry.warnings)
  const pageEnvelope: PageEnvelope = envelopeOverride ? { ...page, ...envelopeOverride } : page
  if (result.isTest === true) event.isTest = true
  const request = stampOf(event.rawHeaders, geo)
  event.event = JSON.parse(result.event) as Json
  event.payload = result.payload === null ? null : (JSON.parse(result.payload) as Json)
  event.envelope = envelopeOf(pageEnvelope, request, {
    received_at: event.receivedAt,
    is_test: event.isTest,
    event_id: entry.verdict.event_id ?? "",
    event_type: entry.verdict.event_type ?? "",
  })
  event.stamp = stampedColumns(pageEnvelope, request, event.isTest)
  entry.is_test = event.isTest
  noteTransformed(entry, event.event, result.event, event.envelope)
}

const fields = Object.entries(PageEnvelope.shape)

/** Each field by itself: one that is not as it should be is left out, with a warning, and the event goes on. Null is unset. */
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
