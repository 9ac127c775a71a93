// What every suite is told, and how it finds out which of its rows are wanted.
import type { Machine } from "./machine.ts"
import type { Row } from "./table.ts"

export interface BenchOptions {
  /** Names of rows begin with it. */
  readonly only: string
  /** Of one measured run. */
  readonly seconds: number
  /** Measured runs a contestant; absent: what the suite thinks right. */
  readonly runs: number | undefined
  /** Page events that analytics are measured with. */
  readonly events: number
  readonly machine: Machine
  /** Says what is in progress. */
  readonly note: (text: string) => void
}

/** What went wrong says all in its message; no stack is needed. */
export class BenchProblem extends Error {}

export type Suite = (options: BenchOptions) => AsyncGenerator<Row>

/** Whether a row of this name was asked for; of the start of names: whether one of them could be. */
export function isSelected({ only }: Pick<BenchOptions, "only">, name: string): boolean {
  return name.startsWith(only) || (name.endsWith("/") && only.startsWith(name))
}
