// Times that a clock set too late, because it was ahead: found and corrected once the clock is right again.
import { token } from "../kernel/di.ts"

/** A clock that was ahead and is right again. */
export interface ClockCorrection {
  /** Wall time, milliseconds since the epoch. */
  readonly now: number
  /** By how much the clock was ahead. */
  readonly aheadMs: number
}

/** Corrects times of one kind and returns how many. It may run again. */
export type Correct = (correction: ClockCorrection) => Promise<number>

/** Collects the corrections of plugins and runs them. */
export interface ClockCorrections {
  /** To be called while services are created. */
  use(kind: string, correct: Correct): void
  /** Returns the earliest time to which the clock was set back from that time or later; undefined if it never was. */
  setBackTo(at: number): Promise<number | undefined>
}

export const ClockCorrections = token<ClockCorrections>("ClockCorrections")

/** No two clocks that are right differ by more. A time is too late only if it lies further ahead. */
export const maxSkewMs = 60_000
