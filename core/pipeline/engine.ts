// The pipeline engine for plugins. It compiles documents, submits internal events, runs dry runs and replays journalled events.
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
      readonly findings: readonly Finding[]
      /** Reads of all templates, `when`, `for_each` and the dedupe key. */
      readonly reads: readonly PlacedRead[]
    }
  | { readonly ok: false; readonly findings: readonly Finding[] }

/** An event from inside the service. It has no endpoint and needs no verification. */
export interface InternalEvent {
  readonly payload: Json
  readonly headers?: Readonly<Record<string, string>>
  readonly isTest?: boolean
  /** Number of pipelines in the chain of sends before this event. */
  readonly depth?: number
  /** RFC 3339. Time at which the sending pipeline received the data. */
  readonly dataSince?: string
  /** Derives the execution id from this key, so repeated sends are a single event. */
  readonly idempotencyKey?: string
  /** Runs the event even if the pipeline is disabled. */
  readonly force?: boolean
}

/** An event for a dry run. */
export interface DryEvent {
  /** JSON text. */
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  /** The journalled event. With the ids of its first execution, every dry run has the same result. */
  readonly origin?: {
    readonly id: string
    readonly receivedAt: number
    readonly eventId?: string
    readonly eventType?: string
    readonly envelope?: Json
    readonly isTest?: boolean
  }
}

/** Result of an event from inside the service. */
export interface EventResult {
  readonly execution_id: string
  readonly status: "accepted" | "rejected" | "failed"
  readonly reply: Reply
}

/** The response for the sender. `byDefault` is true if no `respond` step ran. */
export interface ReceivedResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly byDefault: boolean
}

/** Effects that the event would have. A dry run causes no effects. */
export interface DryRun {
  readonly verdict: Json
  readonly schema_errors: readonly Json[]
  /** Parts of the event that were left out. */
  readonly warnings: readonly Json[]
  /** Console output of the transform. */
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
  /** Runs the event even if the pipeline is disabled. */
  readonly force?: boolean
  /** Id of the new execution. If an execution with this id exists, the replay does not run again. */
  readonly id?: string
}

/** A request to a pipeline's endpoint in the sender's current form. */
export interface SenderRequest {
  /** The endpoint's public URL with the event's query, without the proof. */
  readonly url: string
  readonly proof: Proof
}

/** The pipeline engine for plugins. */
export interface PipelineEngine {
  /** Returns problems as findings. Throws `unavailable` if the sandbox cannot compile now. */
  compile(document: unknown, organization?: { readonly id: string; readonly slug?: string }): Promise<Compilation>
  /**
   * Receives an event for an endpoint over another route, such as a page's own form, and verifies it as usual. Throws `not_found`
   * if the endpoint has no active pipeline.
   */
  receive(endpointId: string, request: InboundRequest): Promise<ReceivedResponse>
  submit(pipeline: StoredPipeline, event: InternalEvent): Promise<EventResult>
  dryRun(pipeline: StoredPipeline, event: DryEvent): Promise<DryRun>
  replay(pipeline: StoredPipeline, executionId: string, caller: Pick<Caller, "log">, options?: ReplayOptions): Promise<EventResult>
  /**
   * Returns the sender's current request for an event. Returns undefined if the pipeline has no endpoint. The request contains no
   * secret.
   */
  asSender(
    pipeline: StoredPipeline,
    event: { headers: Record<string, string>; query: Record<string, string | string[]>; body: Buffer },
  ): Promise<SenderRequest | undefined>
  /** Stages retries of the permanently failed deferred steps of an execution. Returns their ids. */
  retry(pipeline: StoredPipeline, executionId: string, work: UnitOfWork): Promise<readonly string[]>
  /** Returns true if the organization asks for approval of steps of this action type. */
  gateHolds(organization: string, actionType: string): Promise<boolean>
}

export const PipelineEngine = token<PipelineEngine>("PipelineEngine")
