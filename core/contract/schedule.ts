// Recurring jobs at the times of a cron expression. A schedule is a document and survives restarts. One node commits each run,
// together with the schedule's next time.
import type { z } from "zod"
import { token } from "../kernel/di.ts"
import type { DeclarationKind } from "../kernel/registry.ts"
import type { JobRef } from "./job.ts"
import type { UnitOfWork } from "./unit-of-work.ts"

/** The times: a cron expression with five fields (or six, seconds first) in an IANA time zone. */
export interface Timing {
  readonly cron: string
  /** Such as `Europe/Berlin`; default `UTC`. */
  readonly timezone?: string
}

/** A job that is scheduled at run time. */
export interface ScheduledJob<P extends z.ZodType> extends Timing {
  /** Unique among the schedules of the job type. An earlier schedule with this id is replaced. */
  readonly id: string
  readonly job: JobRef<P>
  readonly payload: z.input<P>
  readonly organization?: string
}

/**
 * Schedules of jobs. Each time enqueues one job across the cluster. Times missed while all nodes were down become one late job.
 * Jobs run at least once, with their own retries. Runs may overlap if a run takes longer than the interval.
 */
export interface Scheduler {
  /**
   * Stages a schedule and returns its first time. Throws `invalid_argument` for a malformed cron expression or time zone, or if
   * no time ever matches.
   */
  set<P extends z.ZodType>(work: UnitOfWork, schedule: ScheduledJob<P>): Date
  /** Stages the end of a schedule. Jobs it already made still run. */
  remove(work: UnitOfWork, job: Pick<JobRef<z.ZodType>, "type">, id: string): void
  /** Returns the first time after `after`, or after now. Throws like `set`. */
  next(timing: Timing, after?: Date): Date
}

export const Scheduler = token<Scheduler>("Scheduler")

/** A schedule declared by a plugin. It exists as long as the plugin is loaded. */
export interface DeclaredSchedule<P extends z.ZodType = z.ZodType> extends Timing {
  /** Unique; `<area>.<what>`. */
  readonly name: string
  readonly job: JobRef<P>
  readonly payload: z.input<P>
}

// biome-ignore lint/suspicious/noExplicitAny: the registry holds schedules of jobs of every payload type.
export type AnySchedule = DeclaredSchedule<any>

export const Schedules: DeclarationKind<AnySchedule> = { kind: "schedule", nameOf: ({ name }) => name }
