// The executable form of a pipeline: ordered steps, split at the reply. The compiler builds it and the runner walks it.
import type { AnyAction } from "../contract/action.ts"
import type { Json } from "../contract/collection.ts"
import type { RetryPolicy } from "../contract/job.ts"

/** All values that templates and expressions can read. */
export interface TemplateScope {
  event: Json
  payload: Json
  query: Json
  envelope: unknown
  steps: Record<string, unknown>
  item?: Json
  pipeline: unknown
  organization: unknown
  /** Set only for the dedupe key. */
  headers?: unknown
}

/** A compiled template, expression or config. It needs no further parsing. Throws AppError if it cannot render. */
export type Evaluate<T> = (scope: TemplateScope) => T

/** A compiled step of a pipeline. */
export interface Step {
  readonly id: string
  readonly action: AnyAction
  /** Position in the document's list. Handlers follow the list. */
  readonly index: number
  readonly pointer: string
  /** Resolved ids of steps that must finish or be skipped first. */
  readonly needs: readonly string[]
  readonly deferred: boolean
  readonly when: Evaluate<boolean> | null
  readonly forEach: Evaluate<Json[]> | null
  readonly onError: "fail" | "continue" | { readonly handler: string }
  readonly retry: RetryPolicy
  readonly timeoutMs: number
  /** Renders and checks the action's config. A config without templates is a constant. */
  readonly config: Evaluate<unknown>
  /** The step waits for a person's approval if the organization requires it. */
  readonly gated: boolean
}

/** A compiled pipeline. */
export interface Graph {
  /** Digest of the document and the action versions. Equal documents have equal digests. */
  readonly digest: string
  /** Steps before the reply, in an order consistent with `needs`. */
  readonly immediate: readonly Step[]
  /** Steps after the reply, in an order consistent with `needs`. */
  readonly deferred: readonly Step[]
  readonly handlers: ReadonlyMap<string, Step>
  readonly byId: ReadonlyMap<string, Step>
  readonly dedupe: { readonly key: Evaluate<string>; readonly windowMs: number } | null
  /** True for each root that a template reads. Events leave out `payload` and `query` if no template reads them. */
  readonly reads: { readonly payload: boolean; readonly query: boolean; readonly headers: boolean }
  /** Dataset slugs as written, in order, without repeats. */
  readonly writesTo: readonly string[]
  /** Pairs of dataset and key column of keyed writes. */
  readonly upserts: readonly { readonly dataset: string; readonly key: string }[]
}
