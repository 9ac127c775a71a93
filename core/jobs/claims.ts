// Selects due jobs if there are more than a node has room for. Organizations take turns, and within each organization its keys
// (pipelines), so a backlog delays only its own key. The search skips from lane to lane in an index, however long the lanes are.
import type { Filter, Store } from "../contract/store.ts"
import { type Clock, timestamp } from "../kernel/clock.ts"
import { JobCollection, type JobDocument } from "./jobs-collection.ts"

/** Organizations checked in one round. The next round starts behind the last. */
const maxOrganizations = 16
/** Keys of one organization checked in one round. */
const maxKeys = 16

export interface DueJobs {
  readonly jobs: readonly JobDocument[]
  /** True if more jobs are due. */
  readonly more: boolean
}

export class Claims {
  readonly #store: Store
  readonly #clock: Clock
  /** The last served organization, by type. */
  readonly #lastOrganization = new Map<string, string>()
  /** The last served lane, by type and organization. */
  readonly #lastLane = new Map<string, string>()

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Returns true if a job of any of these types is due. A single read replaces one read per type. */
  async any(types: readonly string[]): Promise<boolean> {
    if (types.length === 0) return false
    return (await this.#store.open(JobCollection).count(this.#isDue({ type: { $in: [...types] } }), { limit: 1 })) > 0
  }

  /** Returns at most `capacity` due jobs of the type without a holder. */
  async due(type: string, capacity: number): Promise<DueJobs> {
    const oldest = await this.#find({ type }, capacity)
    if (oldest.length < capacity) return { jobs: oldest, more: false }
    const organizations = await this.#inTurn(`${type}/`, this.#lastOrganization, maxOrganizations)
    const share = Math.ceil(capacity / Math.max(1, organizations.length))
    const jobs: JobDocument[] = []
    for (const organization of organizations) {
      if (jobs.length >= capacity) break
      this.#lastOrganization.set(`${type}/`, organization)
      jobs.push(...(await this.#ofOrganization(`${type}/${organization}/`, Math.min(share, capacity - jobs.length))))
    }
    // Falls back to the oldest jobs if the checked lanes have no due job, or if jobs have no lanes.
    return { jobs: jobs.length > 0 ? jobs : oldest, more: true }
  }

  async #ofOrganization(prefix: string, capacity: number): Promise<JobDocument[]> {
    if (this.#lastLane.size > 10_000) this.#lastLane.clear()
    const keys = await this.#inTurn(prefix, this.#lastLane, maxKeys)
    const jobs: JobDocument[] = []
    for (const [at, key] of keys.entries()) {
      if (jobs.length >= capacity) break
      this.#lastLane.set(prefix, key)
      // Unused capacity of one key goes to the next.
      jobs.push(...(await this.#find({ lane: `${prefix}${key}` }, Math.ceil((capacity - jobs.length) / (keys.length - at)))))
    }
    return jobs
  }

  /** Returns the next distinct parts after a prefix of lanes. Starts behind the last served part, then wraps around. */
  async #inTurn(prefix: string, last: ReadonlyMap<string, string>, most: number): Promise<string[]> {
    const isKey = prefix.split("/").length > 2
    const found: string[] = []
    const from = last.get(prefix)
    let after = from === undefined ? prefix : behind(prefix, from, isKey)
    for (let wrapped = from === undefined; found.length < most; ) {
      const next = await this.#store
        .open(JobCollection)
        .first({ state: "queued", lane: { $gte: after, $lt: `${prefix.slice(0, -1)}0` } }, { sort: { lane: 1 } })
      if (next?.lane === undefined) {
        if (wrapped) break
        wrapped = true
        after = prefix
        continue
      }
      const rest = next.lane.slice(prefix.length)
      const part = isKey ? rest : rest.slice(0, rest.indexOf("/"))
      if (found.includes(part)) break
      found.push(part)
      after = behind(prefix, part, isKey)
    }
    return found
  }

  #find(which: Filter, limit: number): Promise<JobDocument[]> {
    return this.#store.open(JobCollection).find(this.#isDue(which), { sort: { run_at: 1 }, limit })
  }

  #isDue(which: Filter): Filter {
    return { state: "queued", ...which, run_at: { $lte: timestamp(this.#clock.now()) } }
  }
}

/** Returns the least text greater than every lane of the part: "0" follows "/". */
function behind(prefix: string, part: string, isKey: boolean): string {
  return isKey ? `${prefix}${part}\u0001` : `${prefix}${part}0`
}
