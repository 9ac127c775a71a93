// The engine as plugins see it: compile a document, put an event through a pipeline from inside the service, try one
// dry, run a journalled one again.
import type { Reply } from "../contract/action.ts"
import type { InboundRequest } from "../contract/auth-mode.ts"
import type { Caller } from "../contract/caller.ts"
import type { Json } from "../contract/collection.ts"
import type { UnitOfWork } from "../contract/unit-of-work.ts"
import { token } from "../kernel/di.ts"
import type { LogLine } from "../kernel/log-lines.ts"
import type { Proof } from "./event/proof.ts"
import type { Finding } from "./findings.ts"
import type { Graph } from "./graph.ts"
import type { Program } from "./sandbox/sandbox.ts"
import type { StoredPipeline } from "./source.ts"
import type { PlacedRead } from "./template.ts"

export type Compilation =
  | {
      readonly ok: true
      readonly graph: Graph
      readonly program: Program
      readonly findings: readonly Finding[] /** Of all templates, `when`, `for_each` and the dedupe key. */
      readonly reads: readonly PlacedRead[]
    }
  | { readonly ok: false; readonly findings: readonly Finding[] }

/** An event from inside the service: no endpoint, and nothing to verify. */
export interface InternalEvent {
  readonly payload: Json
  readonly headers?: Readonly<Record<string, string>>
  readonly isTest?: boolean
  /** Depth of pipelines sending to pipelines. */
  readonly depth?: number
  /** RFC 3339. When the sending pipeline received the data. */
  readonly dataSince?: string
  /** Makes the execution id derived, so that the same send twice is one event. */
  readonly idempotencyKey?: string
  /** Also where the pipeline is disabled. */
  readonly force?: boolean
}

/** An event for a dry run. */
export interface DryEvent {
  /** JSON text. */
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  /** A journalled event. Ids of its first execution make each dry run equal. */
  readonly origin?: {
    readonly id: string
    readonly receivedAt: number
    readonly eventId?: string
    readonly eventType?: string
    readonly envelope?: Json
    readonly isTest?: boolean
  }
}

/** What became of an event from inside the service. */
export interface EventResult {
  readonly execution_id: string
  readonly status: "accepted" | "rejected" | "failed"
  readonly reply: Reply
}

/** What the sender is answered; `byDefault` when no `respond` said so. */
export interface ReceivedResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly byDefault: boolean
}

/** The effects that an event would have; a dry run has none. */
export interface DryRun {
  readonly verdict: Json
  readonly schema_errors: readonly Json[]
  /** What of the event was left out. */
  readonly warnings: readonly Json[]
  /** What the transform wrote by `console`. */
  readonly logs: readonly LogLine[]
  readonly transformed: Json
  readonly steps: readonly Json[]
  readonly effects: {
    readonly rows: readonly Json[]
    readonly sends: readonly Json[]
    readonly broadcasts: readonly Json[]
    readonly response: Reply | null
  }
}

export interface ReplayOptions {
  /** Also where the pipeline is disabled. */
  readonly force?: boolean
  /** Of the new execution; where there is one of this id already, nothing is run again. */
  readonly id?: string
}

/** A request to a pipeline's endpoint, as its sender would send it now. */
export interface SenderRequest {
  /** The endpoint's public URL with the event's query, without the proof. */
  readonly url: string
  readonly proof: Proof
}

/** The engine as plugins see it: compiles documents, and puts events through pipelines. */
export interface PipelineEngine {
  /** Findings are data; throws `unavailable` where the sandbox cannot compile now. */
  compile(document: unknown, organization?: { readonly id: string; readonly slug?: string }): Promise<Compilation>
  /** An event for an endpoint that arrived by another route (a page's own form), to be verified as any. Throws `not_found` where no active pipeline is. */
  receive(endpointId: string, request: InboundRequest): Promise<ReceivedResponse>
  submit(pipeline: StoredPipeline, event: InternalEvent): Promise<EventResult>
  dryRun(pipeline: StoredPipeline, event: DryEvent): Promise<DryRun>
  replay(pipeline: StoredPipeline, executionId: string, caller: Pick<Caller, "log">, options?: ReplayOptions): Promise<EventResult>
  /** How the sender would send an event to the pipeline's endpoint now; undefined where it has none. No secret is part of it. */
  asSender(
    pipeline: StoredPipeline,
    event: { headers: Record<string, string>; query: Record<string, string | string[]>; body: Buffer },
  ): Promise<SenderRequest | undefined>
  /** Stages that the deferred steps of an execution which failed permanently are retried. Returns their ids. */
  retry(pipeline: StoredPipeline, executionId: string, work: UnitOfWork): Promise<readonly string[]>
  /** Returns true if the organization asks for approval of steps of this action type. */
  gateHolds(organization: string, actionType: string): Promise<boolean>
}

export const PipelineEngine = token<PipelineEngine>("PipelineEngine")
