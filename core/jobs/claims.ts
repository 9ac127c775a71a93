// Which due jobs a node claims when there are more than it has room for: organizations in turn, and within each the keys
// (pipelines) in turn, so that a backlog of one holds up nobody else's. What the store holds is found by skipping from
// lane to lane in an index, however long each is.
import type { Filter, Store } from "../contract/store.ts"
import { type Clock, timestamp } from "../kernel/clock.ts"
import { JobCollection, type JobDocument } from "./jobs-collection.ts"

/** Organizations looked at in one round; the next begins behind the last. */
const maxOrganizations = 16
/** Keys of one organization looked at in one round. */
const maxKeys = 16

export interface DueJobs {
  readonly jobs: readonly JobDocument[]
  /** Whether more are due. */
  readonly more: boolean
}

export class Claims {
  readonly #store: Store
  readonly #clock: Clock
  /** By type: the organization that was served last. */
  readonly #lastOrganization = new Map<string, string>()
  /** By type and organization: the lane that was served last. */
  readonly #lastLane = new Map<string, string>()

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Whether a job of any of these types is due: one look in place of one for each type. */
  async any(types: readonly string[]): Promise<boolean> {
    if (types.length === 0) return false
    return (await this.#store.open(JobCollection).count(this.#isDue({ type: { $in: [...types] } }), { limit: 1 })) > 0
  }

  /** At most `capacity` jobs of the type that nobody holds and whose time has come. */
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
    // Where the lanes that were looked at have nothing due, or jobs have none.
    return { jobs: jobs.length > 0 ? jobs : oldest, more: true }
  }

  async #ofOrganization(prefix: string, capacity: number): Promise<JobDocument[]> {
    if (this.#lastLane.size > 10_000) this.#lastLane.clear()
    const keys = await this.#inTurn(prefix, this.#lastLane, maxKeys)
    const jobs: JobDocument[] = []
    for (const [at, key] of keys.entries()) {
      if (jobs.length >= capacity) break
      this.#lastLane.set(prefix, key)
      // What one key leaves, the next may have.
      jobs.push(...(await this.#find({ lane: `${prefix}${key}` }, Math.ceil((capacity - jobs.length) / (keys.length - at)))))
    }
    return jobs
  }

  /** The next different parts behind a prefix of lanes, beginning behind the one served last, then from the start. */
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

/** The least text that no lane of that part is at or behind: "0" follows "/". */
function behind(prefix: string, part: string, isKey: boolean): string {
  return isKey ? `${prefix}${part}\u0001` : `${prefix}${part}0`
}
