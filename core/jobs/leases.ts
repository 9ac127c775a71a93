// Which node holds a job, as the store has it: claimed when its lease has run out, renewed while it is held, given back.
// Each is a commit of its own, and fails where another node was quicker.
import type { Store } from "../contract/store.ts"
import { StagedWork } from "../contract/unit-of-work.ts"
import { type Clock, timestamp } from "../kernel/clock.ts"
import { AppError } from "../kernel/errors.ts"
import { JobCollection, type JobDocument } from "./jobs-collection.ts"

export interface LeasesArgs {
  readonly store: Store
  readonly clock: Clock
  readonly node: string
  readonly leaseMs: number
}

export class Leases {
  readonly #args: LeasesArgs

  constructor(args: LeasesArgs) {
    this.#args = args
  }

  /** The job as it is held now; undefined where it is gone or another node has it. */
  async claim(doc: JobDocument): Promise<JobDocument | undefined> {
    const { clock, node, leaseMs } = this.#args
    const run_at = timestamp(clock.now() + leaseMs)
    const held = { run_at, held_by: node, ...(doc.held_by === "" ? {} : { takeovers: (doc.takeovers ?? 0) + 1 }) }
    const work = new StagedWork(`${doc.id}:claim:${node}:${clock.monotonic()}`)
    work.in(JobCollection).update(doc.id, { $set: held }, { where: { run_at: doc.run_at, held_by: doc.held_by } })
    try {
      await work.commitTo(this.#args.store)
    } catch (error) {
      if (error instanceof AppError && (error.code === "aborted" || error.code === "not_found")) return undefined
      throw error
    }
    return { ...doc, ...held }
  }

  async renew(ids: Iterable<string>): Promise<void> {
    const { clock, leaseMs } = this.#args
    await this.#set("renew", ids, { run_at: timestamp(clock.now() + leaseMs) })
  }

  /** Due at once, for any node with a free slot. */
  async release(ids: Iterable<string>): Promise<void> {
    await this.#set("release", ids, { run_at: timestamp(this.#args.clock.now()), held_by: "" })
  }

  /** Of those that this node still holds. */
  async #set(what: string, ids: Iterable<string>, $set: { run_at: string; held_by?: string }): Promise<void> {
    const { clock, node } = this.#args
    const work = new StagedWork(`${node}:${what}:${clock.monotonic()}`)
    for (const id of ids) work.in(JobCollection).update(id, { $set }, { where: { held_by: node }, optional: true })
    if (work.commit.writes.length > 0) await work.commitTo(this.#args.store)
  }
}
