// Options of every suite, and the selection of rows.
import type { Machine } from "./machine.ts"
import type { Row } from "./table.ts"

export interface BenchOptions {
  /** Prefix of selected row names. */
  readonly only: string
  /** Seconds of one measured run. */
  readonly seconds: number
  /** Measured runs per contestant; absent: the suite's default. */
  readonly runs: number | undefined
  /** Number of page events for analytics. */
  readonly events: number
  readonly machine: Machine
  /** Reports progress. */
  readonly note: (text: string) => void
}

/** A problem fully described by its message, without a stack. */
export class BenchProblem extends Error {}

export type Suite = (options: BenchOptions) => AsyncGenerator<Row>

/** Returns true if the row is selected. For a prefix ending in `/`: if any of its rows can be. */
export function isSelected({ only }: Pick<BenchOptions, "only">, name: string): boolean {
  return name.startsWith(only) || (name.endsWith("/") && only.startsWith(name))
}
