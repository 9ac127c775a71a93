// Leases of jobs in the store: claimed after expiry, renewed while held, and released. Each change is its own commit and
// fails if another node was faster.
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

const perCommit = 500
/** A job held during more process ends may be their cause. It waits, so the service can run meanwhile. */
const maxTakeovers = 2
/** The clock may have been set back by this much since the lease began. */
const maxSkewMs = 60_000

export class Leases {
  readonly #args: LeasesArgs

  constructor(args: LeasesArgs) {
    this.#args = args
  }

  /** Claims the job and returns it. Returns undefined if the job is gone or held by another node. */
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

  /** Ends the leases of other holders now. Returns their number. For a store of a single process, at its start. */
  async endOthers(types: Iterable<string>): Promise<number> {
    const { store, clock, node, leaseMs } = this.#args
    const now = timestamp(clock.now())
    const latest = timestamp(clock.now() + leaseMs + maxSkewMs)
    let ended = 0
    for (const type of types) {
      const held = { state: "queued", type, held_by: { $nin: ["", node] }, run_at: { $gt: now, $lte: latest } }
      let work = new StagedWork(`${node}:end:${type}`)
      for await (const { id, held_by, takeovers = 0 } of store.open(JobCollection).stream(held, { sort: { run_at: 1 } })) {
        if (takeovers >= maxTakeovers) continue
        // The holder remains stored, so the next claim counts as a takeover.
        work.in(JobCollection).update(id, { $set: { run_at: now } }, { where: { held_by }, optional: true })
        ended++
        if (work.writes.length < perCommit) continue
        await work.commitTo(store)
        work = new StagedWork(`${node}:end:${type}:${ended}`)
      }
      if (work.writes.length > 0) await work.commitTo(store)
    }
    return ended
  }

  async renew(ids: Iterable<string>): Promise<void> {
    const { clock, leaseMs } = this.#args
    await this.#set("renew", ids, { run_at: timestamp(clock.now() + leaseMs) })
  }

  /** Makes the jobs due at once, for any node with a free slot. */
  async release(ids: Iterable<string>): Promise<void> {
    await this.#set("release", ids, { run_at: timestamp(this.#args.clock.now()), held_by: "" })
  }

  /** Affects only jobs still held by this node. */
  async #set(what: string, ids: Iterable<string>, $set: { run_at: string; held_by?: string }): Promise<void> {
    const { clock, node } = this.#args
    const work = new StagedWork(`${node}:${what}:${clock.monotonic()}`)
    for (const id of ids) work.in(JobCollection).update(id, { $set }, { where: { held_by: node }, optional: true })
    if (work.commit.writes.length > 0) await work.commitTo(this.#args.store)
  }
}
