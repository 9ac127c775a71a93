// Jobs that run again and again at times of a cron expression. A schedule is a document, so it outlives restarts; of all
// nodes one commits each run, together with the schedule's next time.
import type { z } from "zod"
import { token } from "../kernel/di.ts"
import type { DeclarationKind } from "../kernel/registry.ts"
import type { JobRef } from "./job.ts"
import type { UnitOfWork } from "./unit-of-work.ts"

/** When: a cron expression of five fields, or six with seconds first, read in an IANA time zone. */
export interface Timing {
  readonly cron: string
  /** Such as `Europe/Berlin`; `UTC` unless given. */
  readonly timezone?: string
}

/** A job that is scheduled at run time. */
export interface ScheduledJob<P extends z.ZodType> extends Timing {
  /** Unique among the schedules of the job's type; an earlier schedule of this id is replaced. */
  readonly id: string
  readonly job: JobRef<P>
  readonly payload: z.input<P>
  readonly organization?: string
}

/**
 * Schedules of jobs. Each time is one job, whichever node is up; times that passed while none was become one late job.
 * The job then runs as every job does: at least once, with its own retries. Runs may overlap where one takes longer than
 * the time to the next.
 */
export interface Scheduler {
  /** Stages a schedule in a unit of work and returns its first time. Throws `invalid_argument` for a cron expression or a time zone that is malformed, or that never comes. */
  set<P extends z.ZodType>(work: UnitOfWork, schedule: ScheduledJob<P>): Date
  /** Stages the end of a schedule; jobs that it made already still run. */
  remove(work: UnitOfWork, job: Pick<JobRef<z.ZodType>, "type">, id: string): void
  /** The first time after `after`, or after now. Throws as `set` does. */
  next(timing: Timing, after?: Date): Date
}

export const Scheduler = token<Scheduler>("Scheduler")

/** A schedule that a plugin declares; it is there as long as the plugin is. */
export interface DeclaredSchedule<P extends z.ZodType = z.ZodType> extends Timing {
  /** Unique; `<area>.<what>`. */
  readonly name: string
  readonly job: JobRef<P>
  readonly payload: z.input<P>
}

// biome-ignore lint/suspicious/noExplicitAny: the registry holds schedules of jobs of every payload type.
export type AnySchedule = DeclaredSchedule<any>

export const Schedules: DeclarationKind<AnySchedule> = { kind: "schedule", nameOf: ({ name }) => name }
