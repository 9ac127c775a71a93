// An action type: one step that a pipeline can take. `commit` actions do no I/O of their own, they stage what the
// event's commit will write; `deferred` ones run from the durable queue, at least once, with an idempotency key.
import { z } from "zod"
import type { Deps, TokenRecord } from "../kernel/di.ts"
import type { AppError } from "../kernel/errors.ts"
import { didYouMean } from "../kernel/guess.ts"
import type { Logger } from "../kernel/log.ts"
import type { DeclarationKind } from "../kernel/registry.ts"
import type { Json } from "./collection.ts"
import type { Envelope } from "./envelope.ts"
import type { Risk } from "./gate.ts"
import type { LintRule } from "./lint-rule.ts"
import type { Rendered } from "./template.ts"
import type { UnitOfWork } from "./unit-of-work.ts"

/** What every run of a step knows, the same for all action types. */
export interface StepContext {
  readonly organization: { readonly id: string; readonly slug: string }
  readonly pipeline: { readonly id: string; readonly slug: string; readonly name: string; readonly endpoint_id: string | null }
  readonly executionId: string
  /** Execution whose identity rows, positions and idempotency keys take: the first one, when this is a replay. */
  readonly originId: string
  /** RFC 3339, of the origin. */
  readonly receivedAt: string
  /** RFC 3339. Set if the step runs later than the data was received: in a replay, from the queue, or for another pipeline's event. */
  readonly dataSince: string | undefined
  readonly stepId: string
  /** Position in `for_each`, 0 otherwise. */
  readonly itemIndex: number
  /** What the transform returned (or the element, in `for_each`). */
  readonly event: Json
  readonly envelope: Envelope
  /** Columns stamped at ingestion. */
  readonly stamp: Readonly<Record<string, Json>>
  /** Stable over retries and replays; to be sent along where the other side takes one. */
  readonly idempotencyKey: string
  /** 1 for the first try. */
  readonly attempt: number
  /** Depth of pipelines that send to pipelines; 0 for an event from outside. */
  readonly depth: number
  /** Aborted at the step's deadline and when the service stops. */
  readonly signal: AbortSignal
  readonly log: Logger
}

export interface RunArgs<C, R extends TokenRecord> {
  readonly config: Rendered<C>
  readonly deps: Deps<R>
  readonly context: StepContext
  /** Writes staged here are part of the event's commit (commit actions) or of the step's own (deferred ones). */
  readonly work: UnitOfWork
  /** `respond` only: what the caller is answered. */
  readonly reply: (response: Reply) => void
  /** Adds a warning to the journal entry of the event. */
  readonly warn: (warning: StepWarning) => void
}

/** Something of the event that the step changed or left out. */
export interface StepWarning {
  /** JSON pointer into the event. */
  readonly pointer: string
  readonly message: string
}

/** What the sender of an event is answered. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Json
}

export interface ActionExample {
  readonly title: string
  /** The action object as it stands in a pipeline; executed by the tests. */
  readonly yaml: string
}

/** A compile-time remark of an action type about one of its uses. */
export interface ActionFinding {
  readonly rule: string
  readonly level: "error" | "warning"
  readonly message: string
  /** Field of the action the remark is about. */
  readonly field?: string
}

/** What schema or transform tell of the fields that events have. */
export interface KnownEvent {
  readonly names: readonly string[]
  /** No event has others. */
  readonly exact: boolean
}

/** What an action may check of the document around it. */
export interface DocumentAround {
  readonly source_kind: string
  readonly auth_mode: string
  readonly auth_config: Readonly<Record<string, unknown>>
}

/** How the event of a refused step came about. */
export interface RefusedEvent {
  /** True if a transform made the event, whose fields then have other names than the sender's. */
  readonly isTransformed: boolean
}

/** A place in an event, as it was sent, that a step cannot take. */
export interface EventFault {
  /** Keys and indexes from the body's root. */
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** An action type, as `defineAction` takes it. */
export interface Action<C extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType, R extends TokenRecord = TokenRecord> {
  /** `<noun>.<verb>`, or one word. */
  readonly type: string
  readonly summary: string
  readonly description?: string
  readonly timing: "commit" | "deferred"
  /** Of a deferred action: how much harm is done where a step of it was wrong; `medium` unless given. People who approve steps see it. */
  readonly risk?: Risk
  /** A strict object of the action's own fields; the common ones (`id`, `needs`, `when`, ...) are not listed. */
  readonly config: C
  /** Of one run; what `steps.<id>` shows. */
  readonly result: O
  readonly examples: readonly ActionExample[]
  /** The effect of a step that runs again, after a crash or in a replay. `exactly_once`: none. `idempotency_key`: it acts again with the same idempotency key, by which the receiver detects the repeat. Absent: neither is promised. */
  readonly idempotency?: "exactly_once" | "idempotency_key"
  readonly inject?: R
  /** Set where `run` may call `reply`; such a step runs before the reply goes out. */
  readonly replies?: true
  /** Slugs of the datasets that this use writes to, for promotion, `write_target_datasets` and creation at save. The result of a run is then a RowResult, which the journal lists. */
  writesTo?(config: z.output<C>): readonly string[]
  /** Column by which this use upserts, when it does. */
  keyedBy?(config: z.output<C>): string | undefined
  /** Live channels that this use sends to, where they are known before an event; reserved ones are refused. A dry run shows what an action with this hook would broadcast. */
  broadcastsTo?(config: z.output<C>): readonly string[]
  /** The rules that `lint` speaks of, by id; each gets a page under docs/rules. */
  readonly rules?: Readonly<Record<string, LintRule>>
  /** Returns problems of this use that the schema cannot express. `event` is the known part of the step's event. Pure. */
  lint?(config: z.output<C>, event?: KnownEvent, document?: DocumentAround): readonly ActionFinding[]
  /** For commit actions returns at once or a promise; throws AppError or any error to fail the step. An error with `retryable: false` in its details is not retried. */
  run(args: RunArgs<z.output<C>, R>): Promise<z.input<O>> | z.input<O>
  /** Of a deferred action: the host, mail domain or connection that a run calls. Steps take turns by it, so that one that hangs does not hold up the others. Pure. */
  destination?(config: Rendered<z.output<C>>): string
  /** Slots of one destination, as a multiple of `jobs.concurrency`; 1 unless given. More if a destination often answers others while it hangs for some. */
  readonly slotsPerDestination?: number
  /** Names the places of the event, as it was sent, that made a step before the reply fail with `invalid_argument`. The answer 400 names them. Pure. */
  faultsIn?(sent: Json, refused: AppError, event: RefusedEvent): readonly EventFault[]
  /** The config with what a run takes from the event in place of fields that were left out, so that a person who approves it sees all of it. Pure. */
  complete?(config: Rendered<z.output<C>>, event: Json): Rendered<z.output<C>>
  /** Of a deferred action: who a run reaches beside its config, such as a connection with its revision and host. People who approve a step see it. A step is refused if it changed since. */
  target?(config: Rendered<z.output<C>>, args: { readonly organization: string; readonly deps: Deps<R> }): Promise<Json>
  /** Fields that hold the text of a mail or message. The person who approves a step reads them in full. */
  readonly contents?: readonly string[]
  /** Dry run: what a deferred action would send, shown instead of being done. Absent: the rendered config. */
  preview?(config: Rendered<z.output<C>>): Json
}

// biome-ignore lint/suspicious/noExplicitAny: the registry holds actions of every config and result type.
export type AnyAction = Action<any, any, any>

/** The action types that are loaded. */
export const Actions: DeclarationKind<AnyAction> = { kind: "action", nameOf: (action) => action.type }

const timings = ["commit", "deferred"]
const idempotencies = ["exactly_once", "idempotency_key"]

/** Throws for a value that the types forbid, in a declaration that no compiler has checked. */
export function assertAction({ type, timing, idempotency = "exactly_once" }: AnyAction): void {
  for (const [field, value, known] of [
    ["timing", timing, timings],
    ["idempotency", idempotency, idempotencies],
  ] as const) {
    if (known.includes(value)) continue
    throw new Error(
      `The action "${type}" has ${field} ${JSON.stringify(value)}; it is one of ${known.join(", ")}.${didYouMean(String(value), known)}`,
    )
  }
}

/** Declares an action type; `register` hands it to the service. */
export function defineAction<C extends z.ZodType, O extends z.ZodType, const R extends TokenRecord = Record<never, never>>(
  action: Action<C, O, R>,
): Action<C, O, R> {
  return action
}

// The result of an action that writes rows of datasets: what the journal lists under `rows` and a dry run shows.

/** The result of one run of an action with `writesTo`. */
export const RowResult = z.object({ row_id: z.uuid(), dataset_slug: z.string() })
export type RowResult = z.infer<typeof RowResult>

/** A row that a step wrote, as the journal lists it. */
export interface WrittenRow {
  step: string
  dataset: string
  row_id: string
}

/** The rows that a step's result names: its own, or those of each element of `for_each`. */
export function rowsIn(step: string, result: unknown): WrittenRow[] {
  const rows: WrittenRow[] = []
  for (const one of Array.isArray(result) ? (result as unknown[]) : [result]) {
    const row = one as Partial<Record<keyof RowResult, unknown>> | null | undefined
    if (typeof row?.row_id !== "string" || typeof row.dataset_slug !== "string") continue
    rows.push({ step, dataset: row.dataset_slug, row_id: row.row_id })
  }
  return rows
}
