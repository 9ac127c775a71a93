// Foreign scripts outside pipelines (of heartbeats, for example): `function script(input)` in JavaScript. They run in a sandbox
// isolate and see only their input. The rules of transforms apply: functions and constants at top level, no asynchronous code, a
// fixed clock, seeded random numbers.
import { token } from "../kernel/di.ts"
import type { LogLine } from "../kernel/log-lines.ts"
import type { Json } from "./collection.ts"

/** The maximum deadline of a script. */
export const maxScriptMs = 250
/** The maximum size of a result, as JSON in UTF-8. */
export const maxScriptResultBytes = 1_048_576

/** One run of a script: its source, its input as JSON, and its limits. */
export interface ScriptCall {
  /** The owner of the script. Organizations take turns and share no isolates. */
  readonly organization: string
  /** Identifies the script within its organization. Its isolate and its penalties belong to this id. */
  readonly id: string
  readonly source: string
  /** An object or a list with at most a hundred levels. */
  readonly input: Json
  /** Milliseconds since the epoch; the fixed time of the script's clock. */
  readonly now: number
  readonly seed: string
  /** Milliseconds; default `maxScriptMs`. */
  readonly deadlineMs?: number
  /** Default `maxScriptResultBytes`. */
  readonly maxResultBytes?: number
}

/** A compile or run error of a script. */
export interface ScriptProblem {
  readonly message: string
  /** Line of the source, from 1. */
  readonly line?: number
  readonly column?: number
}

/** The end of a script, with its log lines if there are any. */
export type ScriptResult = ScriptEnd & { readonly logs?: readonly LogLine[] }

/** The value of a script, or its error. */
export type ScriptEnd =
  /** An object, a list, or null. */
  | { readonly ok: true; readonly value: Json }
  | {
      readonly ok: false
      /** `refused`: the source is invalid. Retry `penalty` and `unavailable` after `retryAfterS`. */
      readonly kind: "refused" | "invalid_input" | "threw" | "timeout" | "memory" | "bad_result" | "penalty" | "unavailable"
      readonly message: string
      readonly line?: number
      readonly retryAfterS?: number
    }

/** Runs scripts of organizations in the sandbox. */
export interface Scripts {
  /** Returns the problems of a source; empty if it can run. Rejects with `unavailable` if the sandbox cannot answer now. */
  check(organization: string, source: string): Promise<readonly ScriptProblem[]>
  /** Runs a script. Never rejects because of the script. */
  run(call: ScriptCall): Promise<ScriptResult>
  /** Drops a script's isolate. */
  forget(id: string): void
}

export const Scripts = token<Scripts>("Scripts")
