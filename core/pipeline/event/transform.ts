// From a body to an event: schema and transform in the sandbox, then the page envelope and the stamped columns. The same
// for events from outside, from inside, replayed and tried dry.
import type { Json } from "../../contract/collection.ts"
import { type Envelope, PageEnvelope } from "../../contract/envelope.ts"
import { timestamp } from "../../kernel/clock.ts"
import type { CoreConfig } from "../../kernel/config-schema.ts"
import { wantsContext } from "../sandbox/program.ts"
import type { Sandbox, SandboxResult } from "../sandbox/sandbox.ts"
import type { Headers } from "../stamp/headers.ts"
import { envelopeOf, stampedColumns, stampOf, taggedAsTest } from "../stamp/stamp.ts"
import type { LivePipeline } from "./loaded-pipelines.ts"

export interface Incoming {
  readonly live: Pick<LivePipeline, "stored" | "program" | "graph">
  /** JSON text. */
  readonly body: string
  /** As they arrived; user agent, language and geography are read off them. */
  readonly rawHeaders: Headers
  /** What the transform may see of headers and query. */
  readonly headers: Record<string, string>
  readonly query: Readonly<Record<string, string | readonly string[]>>
  readonly receivedAt: number
  /** Seeds the transform's random numbers: the origin's id. */
  readonly seed: string
  readonly eventId: string
  readonly eventType: string
  /** Dotted paths of proof in the body, taken out before anything sees it. */
  readonly strip?: readonly string[] | undefined
  /** What wins over the body's envelope: a viewer's claims, or the envelope of a replayed event. */
  readonly over?: Partial<PageEnvelope> | undefined
  readonly isTest?: boolean
  readonly wantsPayload?: boolean
}

export interface Understood {
  readonly ok: true
  readonly event: Json
  /** The event's JSON text. */
  readonly eventText: string
  readonly payload: Json
  /** The payload's JSON text where it was asked for or differs from the body. */
  readonly payloadText: string | null
  readonly envelope: Envelope
  readonly stamp: Record<string, Json>
  readonly isTest: boolean
}

const noEnvelope = { success: true, data: {} } as const

export type Misunderstood = SandboxResult & { ok: false }

export async function understand(
  incoming: Incoming,
  sandbox: Sandbox,
  geo: CoreConfig["inbound"]["geo"],
): Promise<Understood | Misunderstood> {
  const { live, strip, receivedAt } = incoming
  const stripped = strip !== undefined && strip.length > 0
  const received_at = timestamp(receivedAt)
  const result = await sandbox.run({
    organization: live.stored.organization.id,
    pipelineId: live.stored.id,
    program: live.program,
    body: incoming.body,
    context: wantsContext(live.program)
      ? JSON.stringify({ headers: incoming.headers, query: incoming.query, envelope: incoming.over ?? {}, received_at })
      : "{}",
    receivedAt,
    executionId: incoming.seed,
    ...(stripped ? { strip } : {}),
    wantsPayload: incoming.wantsPayload === true || live.graph.reads.payload || stripped,
  })
  if (!result.ok) return result
  const page = result.envelope === null ? noEnvelope : PageEnvelope.safeParse(JSON.parse(result.envelope))
  if (!page.success) {
    const errors = page.error.issues.map((issue) => ({ pointer: `/${["_envelope", ...issue.path].join("/")}`, message: issue.message }))
    return { ok: false, kind: "invalid", message: "The page envelope is not as it should be.", errors }
  }
  const isTest = incoming.isTest === true || taggedAsTest(incoming.rawHeaders) || result.isTest === true
  const request = stampOf(incoming.rawHeaders, geo)
  const pageEnvelope: PageEnvelope = incoming.over ? { ...page.data, ...incoming.over } : page.data
  return {
    ok: true,
    event: JSON.parse(result.event) as Json,
    eventText: result.event,
    payload: result.payload === null ? null : (JSON.parse(result.payload) as Json),
    payloadText: result.payload,
    envelope: envelopeOf(pageEnvelope, request, {
      received_at,
      is_test: isTest,
      event_id: incoming.eventId,
      event_type: incoming.eventType,
    }),
    stamp: stampedColumns(pageEnvelope, request, isTest),
    isTest,
  }
}
