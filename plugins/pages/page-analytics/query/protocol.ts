// What the service and its query process say to each other, over the IPC channel.

export interface QueryTask {
  readonly id: number
  readonly sql: string
  /** Absolute paths: all that the query can read. */
  readonly files: readonly string[]
  /** Some files were written before a column existed. */
  readonly mixed: boolean
  readonly limits: QueryLimits
  /** RFC 3339: what the clock of the query says, so that it says the same again. Without: the real one. */
  readonly clock?: string | null
  /** Refuse what has another value each time. */
  readonly repeatable?: boolean
}

export interface QueryLimits {
  readonly rows: number
  /** Of the answer as JSON. */
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
  /** The engine's own message, or why the query was not let at it. */
  | { readonly id: number; readonly refused: string; readonly memory: boolean }

/** Message of a process: it has an engine open for a query. The first one, and one after each answer. */
export const ready = "ready"
