// Things done again and again: cron expressions (croner, UTC). On a cluster each run is claimed with a commit whose id is
// derived from the name and the minute, so that one node does it.
import { Cron } from "croner"
import type { Schedule, Scheduler } from "../contract/job.ts"
import type { Logger } from "../kernel/log.ts"

export interface ScheduleArgs {
  readonly log: Logger
  /** True on the one node that gets to run this occurrence. */
  readonly claim: (name: string, at: Date) => Promise<boolean>
}

export class CronScheduler implements Scheduler {
  readonly #args: ScheduleArgs
  readonly #schedules: Schedule[] = []
  readonly #crons: Cron[] = []
  readonly #stop = new AbortController()
  readonly #running = new Set<Promise<void>>()

  constructor(args: ScheduleArgs) {
    this.#args = args
  }

  add(schedule: Schedule): void {
    this.#schedules.push(schedule)
  }

  start(): void {
    for (const schedule of this.#schedules) {
      this.#crons.push(
        new Cron(schedule.cron, { timezone: "UTC", protect: true, unref: true }, async (cron) => {
          const running = this.#run(schedule, cron.currentRun() ?? new Date())
          this.#running.add(running)
          await running.finally(() => this.#running.delete(running))
        }),
      )
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    for (const cron of this.#crons) cron.stop()
    await Promise.all(this.#running)
  }

  async #run(schedule: Schedule, at: Date): Promise<void> {
    try {
      if (await this.#args.claim(schedule.name, at)) await schedule.run(this.#stop.signal)
    } catch (error) {
      this.#args.log.error({ err: error, schedule: schedule.name }, "a scheduled run failed")
    }
  }
}
