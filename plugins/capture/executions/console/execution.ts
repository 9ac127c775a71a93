// The complete record of an event, as the API answers it.
import type { Event } from "./event.tsx"

interface Problem {
  readonly code: string
  readonly message: string
}

export interface Step {
  readonly type: string
  readonly state: "done" | "skipped" | "failed" | "pending" | "running"
  readonly attempts: number
  readonly duration_ms: number
  readonly result: unknown
  readonly error: Problem | null
  readonly next_at?: string
  readonly approval_id?: string
  readonly skipped_after?: string
}

export interface Execution extends Event {
  readonly revision: number
  readonly response: { readonly status: number; readonly body: string } | null
  readonly first_at: string
  readonly last_at: string
  readonly verdict: {
    readonly ok: boolean
    readonly mode: string
    readonly cause: string
    readonly message: string
    readonly secret_id: string | null
    readonly event_id: string | null
    readonly event_type: string | null
  }
  readonly dedupe: { readonly key: string; readonly outcome: string } | null
  readonly schema_errors: readonly { readonly pointer: string; readonly message: string }[]
  readonly warnings: readonly { readonly pointer: string; readonly message: string }[]
  readonly forced: boolean
  readonly logs: readonly { readonly level: "debug" | "info" | "warn" | "error"; readonly text: string }[]
  readonly transformed: unknown
  readonly envelope: unknown
  readonly steps: Readonly<Record<string, Step>>
  readonly timings: Readonly<Record<string, number>>
  readonly rows: readonly { readonly step: string; readonly dataset: string; readonly row_id: string }[]
  readonly digest: string
  readonly depth: number
}

/** The stored payload, which lies apart and goes first. */
export interface Payload {
  /** JSON text. */
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string | readonly string[]>>
}
