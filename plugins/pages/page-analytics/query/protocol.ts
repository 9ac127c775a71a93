// IPC messages between the service and its query process.

export interface QueryTask {
  readonly id: number
  readonly sql: string
  /** Absolute paths of the only files that the query can read. */
  readonly files: readonly string[]
  /** Some files are older than a column. */
  readonly mixed: boolean
  readonly limits: QueryLimits
  /** RFC 3339. Fixed time of the query's clock functions, for repeatable results. Absent: the real time. */
  readonly clock?: string | null
  /** Refuse functions with another result each time. */
  readonly repeatable?: boolean
}

export interface QueryLimits {
  readonly rows: number
  /** Bytes of the answer as JSON. */
  readonly bytes: number
}

export interface QueryTable {
  readonly columns: string[]
  readonly types: string[]
  readonly rows: unknown[][]
  readonly truncated: boolean
}

export type QueryAnswer =
  | { readonly id: number; readonly table: QueryTable }
  /** The engine's message, or the cause of the refusal. */
  | { readonly id: number; readonly refused: string; readonly memory: boolean }

/** Sent by a process with an open engine: once after its start, and once after each answer. */
export const ready = "ready"
