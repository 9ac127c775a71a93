// The executable form of a pipeline: steps in order, split at the reply. Made by the compiler, walked by the runner.
import type { AnyAction } from "../contract/action.ts"
import type { Json } from "../contract/collection.ts"
import type { RetryPolicy } from "../contract/job.ts"

/** What templates and expressions can read; nothing else exists for them. */
export interface TemplateScope {
  event: Json
  payload: Json
  query: Json
  envelope: unknown
  steps: Record<string, unknown>
  item?: Json
  pipeline: unknown
  organization: unknown
  /** Only for the dedupe key. */
  headers?: unknown
}

/** A compiled template, expression or config: no parsing left to do. Throws AppError when it cannot render. */
export type Evaluate<T> = (scope: TemplateScope) => T

/** A compiled step of a pipeline. */
export interface Step {
  readonly id: string
  readonly action: AnyAction
  /** Position in the document's list; handlers follow the list. */
  readonly index: number
  readonly pointer: string
  /** Steps that must have finished (or been skipped), resolved. */
  readonly needs: readonly string[]
  readonly deferred: boolean
  readonly when: Evaluate<boolean> | null
  readonly forEach: Evaluate<Json[]> | null
  readonly onError: "fail" | "continue" | { readonly handler: string }
  readonly retry: RetryPolicy
  readonly timeoutMs: number
  /** Renders and checks the action's config; a constant where it holds no template. */
  readonly config: Evaluate<unknown>
  /** Waits for a person's approval, where the organization asks for it. */
  readonly gated: boolean
}

/** A compiled pipeline. */
export interface Graph {
  /** Of document and action versions: the same document compiled twice gives the same. */
  readonly digest: string
  /** Before the reply, in an order that honours `needs`. */
  readonly immediate: readonly Step[]
  /** After the reply, likewise. */
  readonly deferred: readonly Step[]
  readonly handlers: ReadonlyMap<string, Step>
  readonly byId: ReadonlyMap<string, Step>
  readonly dedupe: { readonly key: Evaluate<string>; readonly windowMs: number } | null
  /** Whether any template reads `payload` or `query`, so that events need not carry what nobody reads. */
  readonly reads: { readonly payload: boolean; readonly query: boolean; readonly headers: boolean }
  /** Dataset slugs as written, in order, without repeats. */
  readonly writesTo: readonly string[]
  /** Pairs of dataset and key column of keyed writes. */
  readonly upserts: readonly { readonly dataset: string; readonly key: string }[]
}
