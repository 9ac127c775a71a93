// Jobs of paused organizations. A parked job waits in the store until the pause ends.
import type { Pauses } from "../contract/pauses.ts"
import type { Store } from "../contract/store.ts"
import { StagedWork } from "../contract/unit-of-work.ts"
import { type Clock, timestamp } from "../kernel/clock.ts"
import type { BoundedLog } from "../kernel/log.ts"
import { JobCollection, type JobDocument } from "./jobs-collection.ts"

export interface PausedJobsArgs {
  readonly store: Store
  readonly clock: Clock
  readonly node: string
  readonly pauses: Pauses
  readonly log: BoundedLog
  readonly isStopped: () => boolean
  /** Called after parked jobs became due. */
  readonly onDue: () => void
}

/** The due time of a parked job. */
export const parkedAt = "9999-12-31T23:59:59.000Z"
const perCommit = 500

export class PausedJobs {
  readonly #args: PausedJobsArgs

  constructor(args: PausedJobsArgs) {
    this.#args = args
    args.pauses.onChange((organization) => this.#unpark(organization))
  }

  /** Unparks jobs of pauses that ended while the service was stopped. */
  start(): void {
    this.#unparkAll().catch((error: unknown) => this.#args.log.warn("unpark", { err: error }, "parked jobs could not be read"))
  }

  has({ organization }: Pick<JobDocument, "organization">): boolean {
    return this.#args.pauses.has(organization)
  }

  /** Parks the jobs, unless another node claimed them. */
  async park(jobs: readonly JobDocument[]): Promise<void> {
    const { clock, node, pauses, store } = this.#args
    const work = new StagedWork(`${node}:park:${clock.monotonic()}`)
    for (const { id, organization, run_at, held_by } of jobs) {
      const $set = { run_at: parkedAt, held_by: "", parked_for: organization }
      work.in(JobCollection).update(id, { $set }, { where: { held_by, ...(held_by === node ? {} : { run_at }) }, optional: true })
    }
    if (work.writes.length === 0) return
    await work.commitTo(store)
    // A pause that ended during the commit found no parked job.
    for (const organization of new Set(jobs.map((job) => job.organization)))
      if (organization !== null && !pauses.has(organization)) await this.#unpark(organization)
  }

  /** Never rejects. After a failed commit the lease expires. */
  async parkHeld(job: JobDocument): Promise<undefined> {
    await this.park([job]).catch((error: unknown) =>
      this.#args.log.warn("park", { err: error }, "a job of a paused organization could not be parked"),
    )
  }

  /** Makes the parked jobs of an organization due, unless it is paused. */
  async #unpark(organization: string): Promise<void> {
    const { clock, isStopped, node, onDue, pauses, store } = this.#args
    if (isStopped() || pauses.has(organization)) return
    const jobs = store.open(JobCollection)
    for (;;) {
      const parked = await jobs.find({ parked_for: organization }, { limit: perCommit })
      if (parked.length === 0) return
      const work = new StagedWork(`${node}:unpark:${organization}:${clock.monotonic()}`)
      for (const { id, run_at, held_by } of parked) {
        // A job hastened during the pause has a time of its own.
        const due = run_at === parkedAt ? { $set: { run_at: timestamp(clock.now()) } } : {}
        work.in(JobCollection).update(id, { ...due, $unset: { parked_for: true } }, { where: { run_at, held_by }, optional: true })
      }
      await work.commitTo(store)
      onDue()
    }
  }

  async #unparkAll(): Promise<void> {
    const jobs = this.#args.store.open(JobCollection)
    for (let after = ""; ; ) {
      const next = await jobs.first({ parked_for: { $gt: after } }, { sort: { parked_for: 1 } })
      if (next?.parked_for === undefined) return
      await this.#unpark(next.parked_for)
      after = next.parked_for
    }
  }
}
