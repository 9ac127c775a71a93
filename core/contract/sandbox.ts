// Foreign scripts that are not pipelines (a heartbeat's, say), for plugins: `function script(input)` in JavaScript, run in
// an isolate of the sandbox, with the data it is given and nothing else. The rules are those of transforms: only functions
// and constants at top level, nothing asynchronous, a clock that stands still, random numbers drawn from a seed.
import { token } from "../kernel/di.ts"
import type { LogLine } from "../kernel/log-lines.ts"
import type { Json } from "./collection.ts"

/** The longest deadline that a script may be given. */
export const maxScriptMs = 250
/** The largest result, as JSON in UTF-8. */
export const maxScriptResultBytes = 1_048_576

/** One run of a script: its source, its input as JSON, and its limits. */
export interface ScriptCall {
  /** Whose script it is: organizations take turns, and share nothing. */
  readonly organization: string
  /** Names the script within its organization: its isolate is kept by it, and what it costs is held against it. */
  readonly id: string
  readonly source: string
  /** An object or a list; at most a hundred levels. */
  readonly input: Json
  /** Milliseconds since the epoch; where the script's clock stands. */
  readonly now: number
  readonly seed: string
  /** Milliseconds; `maxScriptMs` unless given. */
  readonly deadlineMs?: number
  /** `maxScriptResultBytes` unless given. */
  readonly maxResultBytes?: number
}

/** Why a script did not compile or run. */
export interface ScriptProblem {
  readonly message: string
  /** In the source, from 1. */
  readonly line?: number
  readonly column?: number
}

/** And what it wrote, where it wrote anything. */
export type ScriptResult = ScriptEnd & { readonly logs?: readonly LogLine[] }

/** What a script returned, or why it did not. */
export type ScriptEnd =
  /** An object, a list, or null. */
  | { readonly ok: true; readonly value: Json }
  | {
      readonly ok: false
      /** `refused`: the source; `penalty` and `unavailable` may be retried after `retryAfterS`. */
      readonly kind: "refused" | "invalid_input" | "threw" | "timeout" | "memory" | "bad_result" | "penalty" | "unavailable"
      readonly message: string
      readonly line?: number
      readonly retryAfterS?: number
    }

/** Runs scripts of organizations in the sandbox. */
export interface Scripts {
  /** What is wrong with a source; empty where it would run. Rejects with `unavailable` where that cannot be said now. */
  check(organization: string, source: string): Promise<readonly ScriptProblem[]>
  /** Never rejects for what a script does. */
  run(call: ScriptCall): Promise<ScriptResult>
  /** Lets go of a script's isolate. */
  forget(id: string): void
}

export const Scripts = token<Scripts>("Scripts")
