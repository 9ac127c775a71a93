// An action type: one kind of pipeline step. `commit` actions do no I/O. They stage writes for the event's commit.
// `deferred` actions run from the durable queue, at least once, with an idempotency key.
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

/** The context of one step run. All action types receive the same fields. */
export interface StepContext {
  readonly organization: { readonly id: string; readonly slug: string }
  readonly pipeline: { readonly id: string; readonly slug: string; readonly name: string; readonly endpoint_id: string | null }
  readonly executionId: string
  /** The first execution of a replay, otherwise the execution itself. Row identities, positions and idempotency keys derive from it. */
  readonly originId: string
  /** RFC 3339, of the first execution. */
  readonly receivedAt: string
  /** RFC 3339. Set if the step runs later than the data was received: in a replay, from the queue, or for another pipeline's event. */
  readonly dataSince: string | undefined
  readonly stepId: string
  /** Position in `for_each`, 0 otherwise. */
  readonly itemIndex: number
  /** The transform's result. In `for_each`, the element. */
  readonly event: Json
  readonly envelope: Envelope
  /** Columns set at ingestion. */
  readonly stamp: Readonly<Record<string, Json>>
  /** Stable across retries and replays. Send the key along if the other system accepts one. */
  readonly idempotencyKey: string
  /** 1 for the first attempt. */
  readonly attempt: number
  /** Number of pipelines that forwarded the event; 0 for an event from outside. */
  readonly depth: number
  /** Aborted at the step's deadline and when the service stops. */
  readonly signal: AbortSignal
  readonly log: Logger
}

export interface RunArgs<C, R extends TokenRecord> {
  readonly config: Rendered<C>
  readonly deps: Deps<R>
  readonly context: StepContext
  /** Writes staged here belong to the event's commit (commit actions) or to the step's own commit (deferred actions). */
  readonly work: UnitOfWork
  /** `respond` only: sets the answer to the caller. */
  readonly reply: (response: Reply) => void
  /** Adds a warning to the journal entry of the event. */
  readonly warn: (warning: StepWarning) => void
}

/** A part of the event that the step changed or skipped. */
export interface StepWarning {
  /** JSON pointer into the event. */
  readonly pointer: string
  readonly message: string
}

/** The answer to the sender of an event. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Json
}

export interface ActionExample {
  readonly title: string
  /** The action object as written in a pipeline. Tests execute the example. */
  readonly yaml: string
}

/** A compile-time finding about one use of an action type. */
export interface ActionFinding {
  readonly rule: string
  readonly level: "error" | "warning"
  readonly message: string
  /** Field of the action with the problem. */
  readonly field?: string
}

/** The event fields known from the schema or the transform. */
export interface KnownEvent {
  readonly names: readonly string[]
  /** True if no event has other fields. */
  readonly exact: boolean
}

/** The part of the surrounding document that an action may check. */
export interface DocumentAround {
  readonly source_kind: string
  readonly auth_mode: string
  readonly auth_config: Readonly<Record<string, unknown>>
}

/** The origin of a refused step's event. */
export interface RefusedEvent {
  /** True if a transform made the event. The field names then differ from the sender's. */
  readonly isTransformed: boolean
}

/** An invalid value in an event as sent. */
export interface EventFault {
  /** Keys and indexes from the body's root. */
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** An action type: the argument of `defineAction`. */
export interface Action<C extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType, R extends TokenRecord = TokenRecord> {
  /** `<noun>.<verb>`, or one word. */
  readonly type: string
  readonly summary: string
  readonly description?: string
  readonly timing: "commit" | "deferred"
  /** Of a deferred action: the harm done by a wrong step; default `medium`. People who approve steps see the risk. */
  readonly risk?: Risk
  /** A strict object of the action's own fields, without the common ones (`id`, `needs`, `when`, ...). */
  readonly config: C
  /** The result of one run, readable as `steps.<id>`. */
  readonly result: O
  readonly examples: readonly ActionExample[]
  /**
   * The effect of a second run after a crash or in a replay. `exactly_once`: no second effect. `idempotency_key`: the action
   * repeats its call with the same key, so the receiver can detect the repeat. Absent: no guarantee.
   */
  readonly idempotency?: "exactly_once" | "idempotency_key"
  readonly inject?: R
  /** Set if `run` may call `reply`. The step then runs before the reply is sent. */
  readonly replies?: true
  /**
   * Slugs of the datasets written by this use. They serve promotion, `write_target_datasets` and creation at save. The result of
   * a run is then a RowResult and appears in the journal.
   */
  writesTo?(config: z.output<C>): readonly string[]
  /** The upsert column of this use, if it upserts. */
  keyedBy?(config: z.output<C>): string | undefined
  /**
   * Live channels of this use, as far as they are known before an event. Reserved channels are refused. A dry run lists the
   * broadcasts of an action with this hook.
   */
  broadcastsTo?(config: z.output<C>): readonly string[]
  /** The rules of `lint`, by id. Each has a page under docs/rules. */
  readonly rules?: Readonly<Record<string, LintRule>>
  /** Returns problems of this use beyond the schema. `event` is the known part of the step's event. Pure. */
  lint?(config: z.output<C>, event?: KnownEvent, document?: DocumentAround): readonly ActionFinding[]
  /**
   * A commit action returns its result or a promise of it. Any thrown error fails the step. An AppError with `retryable: false`
   * in its details is not retried.
   */
  run(args: RunArgs<z.output<C>, R>): Promise<z.input<O>> | z.input<O>
  /**
   * Of a deferred action: the host, mail domain or connection called by a run. Destinations take turns, so a hanging destination
   * does not delay the others. Pure.
   */
  destination?(config: Rendered<z.output<C>>): string
  /**
   * Slots of one destination, as a multiple of `jobs.concurrency`; default 1. Use more if a destination often answers some calls
   * while others hang.
   */
  readonly slotsPerDestination?: number
  /**
   * Returns the event fields (as sent) that made a step before the reply fail with `invalid_argument`. The 400 answer names these
   * fields. Pure.
   */
  faultsIn?(sent: Json, refused: AppError, event: RefusedEvent): readonly EventFault[]
  /**
   * Completes the config: replaces omitted fields by the values that a run reads from the event. A person who approves the step
   * sees the full config. Pure.
   */
  complete?(config: Rendered<z.output<C>>, event: Json): Rendered<z.output<C>>
  /**
   * Of a deferred action: the target of a run outside its config, such as a connection with its revision and host. People who
   * approve a step see the target. A step with a changed target is refused.
   */
  target?(config: Rendered<z.output<C>>, args: { readonly organization: string; readonly deps: Deps<R> }): Promise<Json>
  /** Fields with the text of a mail or message. The person who approves a step reads these fields in full. */
  readonly contents?: readonly string[]
  /** Dry run: shows the output of a deferred action without sending it. Default: the rendered config. */
  preview?(config: Rendered<z.output<C>>): Json
}

// biome-ignore lint/suspicious/noExplicitAny: the registry holds actions of every config and result type.
export type AnyAction = Action<any, any, any>

/** The loaded action types. */
export const Actions: DeclarationKind<AnyAction> = { kind: "action", nameOf: (action) => action.type }

const timings = ["commit", "deferred"]
const idempotencies = ["exactly_once", "idempotency_key"]

/** Throws if a field has an unknown value. Plugins in plain JavaScript have no compiler check. */
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

// The result of an action that writes dataset rows. The journal lists these rows under `rows`, and a dry run shows them.

/** The result of one run of an action with `writesTo`. */
export const RowResult = z.object({ row_id: z.uuid(), dataset_slug: z.string() })
export type RowResult = z.infer<typeof RowResult>

/** A row written by a step, as listed in the journal. */
export interface WrittenRow {
  step: string
  dataset: string
  row_id: string
}

/** Returns the rows in a step's result: a single row, or one for each element of `for_each`. */
export function rowsIn(step: string, result: unknown): WrittenRow[] {
  const rows: WrittenRow[] = []
  for (const one of Array.isArray(result) ? (result as unknown[]) : [result]) {
    const row = one as Partial<Record<keyof RowResult, unknown>> | null | undefined
    if (typeof row?.row_id !== "string" || typeof row.dataset_slug !== "string") continue
    rows.push({ step, dataset: row.dataset_slug, row_id: row.row_id })
  }
  return rows
}
