// Claims due jobs from the store while this node has room, and parks those of paused organizations.
import type { Store } from "../contract/store.ts"
import type { Clock } from "../kernel/clock.ts"
import type { BoundedLog } from "../kernel/log.ts"
import { allDone } from "../kernel/promises.ts"
import { Claims } from "./claims.ts"
import type { HeldJobs } from "./held-jobs.ts"
import type { JobDocument } from "./jobs-collection.ts"
import type { Leases } from "./leases.ts"
import type { PausedJobs } from "./paused-jobs.ts"

export interface ClaimerArgs {
  readonly store: Store
  readonly clock: Clock
  readonly jobs: ReadonlyMap<string, unknown>
  readonly log: BoundedLog
  readonly held: HeldJobs
  readonly leases: Leases
  readonly paused: PausedJobs
  readonly isStopped: () => boolean
  /** Receives each claimed job. */
  readonly take: (doc: JobDocument) => void
  /** Called for each job that this node takes over after its lease expired. */
  readonly onTakeover?: (type: string) => void
}

export class Claimer {
  readonly #args: ClaimerArgs
  readonly #claims: Claims
  /** Types with further due jobs in the store. */
  readonly #backlog = new Set<string>()

  constructor(args: ClaimerArgs) {
    this.#args = args
    this.#claims = new Claims(args.store, args.clock)
  }

  /** Notes that the store has a due job of the type. */
  noteDue(type: string): void {
    this.#backlog.add(type)
  }

  /** Returns true if the store has due jobs of the type, and this node has room. */
  wantsMore(type: string): boolean {
    return this.#backlog.has(type) && this.#args.held.wantsMore(type)
  }

  /** Claims due jobs that fit. Resolves to true if there is room for further due jobs. */
  async claimDue(): Promise<boolean> {
    const { held, isStopped, jobs: declared, paused } = this.#args
    const types = [...declared.keys()].filter((type) => held.capacity(type) > 0)
    // Cleared before the look, so that a commit during the look causes another look.
    for (const type of types) this.#backlog.delete(type)
    if (!(await this.#claims.any(types))) return this.#wantsAny()
    for (const type of types) {
      const capacity = held.capacity(type)
      if (isStopped()) return false
      if (capacity <= 0) {
        this.#backlog.add(type)
        continue
      }
      this.#backlog.delete(type)
      const { jobs, more } = await this.#claims.due(type, capacity)
      const { parked = [], free = [] } = Object.groupBy(
        jobs.filter(({ id }) => !held.has(id)),
        (doc) => (paused.has(doc) ? "parked" : "free"),
      )
      await paused.park(parked)
      const fitting = held.fitting(free)
      // Jobs beyond the share of an organization or a key wait until another of its jobs ends.
      held.noteLook(type, fitting.length === 0 && free.length > 0)
      if (more || parked.length > 0 || fitting.length < free.length) this.#backlog.add(type)
      await allDone(fitting.map((doc) => this.#claim(doc)))
    }
    return this.#wantsAny()
  }

  #wantsAny(): boolean {
    return [...this.#backlog].some((type) => this.#args.held.wantsMore(type))
  }

  async #claim(doc: JobDocument): Promise<void> {
    if (this.#args.isStopped()) return
    const claimed = await this.#args.leases.claim(doc)
    if (!claimed) return
    if (doc.held_by !== "") this.#noteTakeover(doc)
    this.#args.take(claimed)
  }

  #noteTakeover({ id, type, held_by }: JobDocument): void {
    this.#args.onTakeover?.(type)
    this.#args.log.warn(
      "takeover",
      { job: id, type, node: held_by },
      "took over a job after the lease of its node had expired; check why the node ended",
    )
  }
}
