// What came of a run.
import type { Json, LogLine } from "#core"

export type RunOutcome = RunEnd & { readonly logs?: readonly LogLine[] }

type RunEnd =
  | {
      readonly ok: true
      readonly result: Json
      readonly execution_id?: string
      readonly cost_millicents?: number
    }
  | {
      readonly ok: false
      /** A stable word. */
      readonly reason: string
      readonly message: string
      readonly execution_id?: string
      readonly cost_millicents?: number
    }
