// The jobs held by this node: waiting for a slot of their type, running, or sleeping until their next attempt. Organizations
// share slots and room. The last quarter of each is reserved for organizations without held jobs. A type may set its own number
// of reserved slots. A type may also limit its keys (pipelines, phone numbers). A key then takes at most half of its
// organization's free slots, so hanging jobs leave slots to other keys.
import { FairScheduler, type Share, type Turn } from "../kernel/fair-scheduler.ts"
import type { JobDocument } from "./jobs-collection.ts"

/** Waiting jobs per slot. Further jobs stay in the store for a node with room. */
const heldPerSlot = 8
/** Maximum number of waiting jobs, since each is in memory with its payload. */
const maxHeld = 128
/** Maximum number of jobs sleeping in memory until their next attempt. They are stored without payload. */
const maxSleeping = 1_000
/**
 * A limited key takes another slot while it holds less than this share of its organization's free slots. A single key thus takes
 * half of all slots.
 */
const limitedShare = 1

export interface Slots {
  readonly slots: number
  /** Default: a quarter of the slots, rounded down. */
  readonly reservedSlots?: number | undefined
  readonly limitsKeys?: boolean | undefined
}

interface TypeOfJob {
  readonly scheduler: FairScheduler<JobDocument>
  readonly capacity: number
  readonly keyShare: number
  /** Waiting and running jobs, by organization. */
  readonly organizations: Map<string, number>
  /** Waiting and running jobs, by lane. Only jobs with a key count. */
  readonly lanes: Map<string, number>
  held: number
  /** Number of held jobs when a read of the store found only jobs without room. */
  crowdedAt: number | undefined
}

export class HeldJobs {
  readonly #types = new Map<string, TypeOfJob>()
  readonly #slotsOf: (type: string) => Slots
  readonly #now: () => number
  readonly #ids = new Set<string>()
  readonly #sleeping = new Map<string, () => void>()

  constructor(slotsOf: (type: string) => Slots, now: () => number) {
    this.#slotsOf = slotsOf
    this.#now = now
  }

  get waiting(): number {
    return this.#sum(({ scheduler }) => scheduler.waiting)
  }

  get running(): number {
    return this.#sum(({ scheduler }) => scheduler.running)
  }

  get sleeping(): number {
    return this.#sleeping.size
  }

  /** Returns the ids of all jobs that other nodes must not claim. */
  *ids(): Iterable<string> {
    yield* this.#ids
    yield* this.#sleeping.keys()
  }

  has(id: string): boolean {
    return this.#ids.has(id) || this.#sleeping.has(id)
  }

  /** Returns the room for further jobs of the type. */
  capacity(type: string): number {
    const { capacity, held } = this.#type(type)
    return Math.max(0, capacity - held)
  }

  hasRoom(job: Pick<JobDocument, "type" | "organization" | "lane">): boolean {
    return this.fitting([job]).length > 0
  }

  /** Returns the jobs that fit together, in order. All jobs have one type. */
  fitting<J extends Pick<JobDocument, "type" | "organization" | "lane">>(jobs: readonly J[]): J[] {
    const planned = new Map<string, number>()
    const fit: J[] = []
    for (const job of jobs) {
      if (!this.#fits(job, planned, fit.length)) continue
      count(planned, job.organization ?? "", 1)
      const lane = keyedLane(job)
      if (lane !== undefined) count(planned, lane, 1)
      fit.push(job)
    }
    return fit
  }

  /** Returns true if a job fits in addition to held jobs and to planned jobs (by organization and by lane). */
  #fits(job: Pick<JobDocument, "type" | "organization" | "lane">, planned: ReadonlyMap<string, number>, taken: number): boolean {
    const { capacity, keyShare, held, organizations, lanes } = this.#type(job.type)
    const sumOf = (of: ReadonlyMap<string, number>, name: string) => (of.get(name) ?? 0) + (planned.get(name) ?? 0)
    const ofOrganization = sumOf(organizations, job.organization ?? "")
    const reserved = Math.floor(capacity / 4)
    const free = capacity - held - taken
    if (free <= (ofOrganization > 0 ? reserved : 0)) return false
    const lane = keyedLane(job)
    const ofLane = lane === undefined ? 0 : sumOf(lanes, lane)
    // A limited key without jobs may always take one.
    return ofLane === 0 || ofLane < Math.min(free, capacity - reserved - ofOrganization) * keyShare
  }

  /** Returns true if there is enough room to justify a read of the store. */
  wantsMore(type: string): boolean {
    const { capacity, held, crowdedAt } = this.#type(type)
    const isCrowded = crowdedAt !== undefined && held > 0 && held > crowdedAt - capacity / 8
    return !isCrowded && capacity - held >= capacity / 2
  }

  /** Call after a read of the store. `isCrowded`: all due jobs belong to keys without room. */
  noteLook(name: string, isCrowded: boolean): void {
    const type = this.#type(name)
    type.crowdedAt = isCrowded ? type.held : undefined
  }

  add(doc: JobDocument): void {
    const type = this.#type(doc.type)
    const organization = doc.organization ?? ""
    const lane = keyedLane(doc)
    this.#ids.add(doc.id)
    type.held++
    count(type.organizations, organization, 1)
    if (lane !== undefined) count(type.lanes, lane, 1)
    type.scheduler.add(organization, lane ?? "", doc)
  }

  /** Returns jobs at their turn. Each occupies a slot until `done`. */
  *next(): Generator<Turn<JobDocument>> {
    for (const { scheduler } of this.#types.values()) {
      for (let turn = scheduler.next(); turn; turn = scheduler.next()) yield turn
    }
  }

  /** Releases a running or waiting job. */
  release(doc: JobDocument): void {
    const type = this.#type(doc.type)
    const lane = keyedLane(doc)
    this.#ids.delete(doc.id)
    type.held--
    count(type.organizations, doc.organization ?? "", -1)
    if (lane !== undefined) count(type.lanes, lane, -1)
  }

  /** Returns true if another job may sleep. */
  get maySleep(): boolean {
    return this.#sleeping.size < maxSleeping
  }

  /** Holds a job after its run until it is woken. */
  sleep(id: string, cancel: () => void): void {
    this.#sleeping.set(id, cancel)
  }

  /** Returns false if the job no longer sleeps. */
  wake(id: string): boolean {
    this.#sleeping.get(id)?.()
    return this.#sleeping.delete(id)
  }

  /** Removes all jobs except running ones. Returns their ids. */
  clear(): string[] {
    const ids = [...this.#sleeping.keys()]
    for (const cancel of this.#sleeping.values()) cancel()
    this.#sleeping.clear()
    for (const { scheduler } of this.#types.values()) {
      for (const doc of scheduler.clear()) {
        this.release(doc)
        ids.push(doc.id)
      }
    }
    return ids
  }

  /** Shares by organization, over all types. */
  shares(): Share[] {
    return [...this.#types.values()].flatMap(({ scheduler }) => scheduler.shares())
  }

  #type(name: string): TypeOfJob {
    let type = this.#types.get(name)
    if (!type) {
      const { slots, reservedSlots = Math.floor(slots / 4), limitsKeys = false } = this.#slotsOf(name)
      const keyShare = limitsKeys ? limitedShare : Number.POSITIVE_INFINITY
      // The room of the type already bounds the queue.
      const scheduler = new FairScheduler<JobDocument>({
        maxWaiting: Number.POSITIVE_INFINITY,
        slots,
        reservedSlots,
        keyShare,
        refuse: () => undefined,
        now: this.#now,
      })
      const capacity = Math.max(slots, Math.min(maxHeld, slots * heldPerSlot))
      type = { scheduler, capacity, keyShare, organizations: new Map(), lanes: new Map(), held: 0, crowdedAt: undefined }
      this.#types.set(name, type)
    }
    return type
  }

  #sum(of: (type: TypeOfJob) => number): number {
    let sum = 0
    for (const type of this.#types.values()) sum += of(type)
    return sum
  }
}

/** Returns undefined for a job without a key. Such jobs have no share of their own. */
function keyedLane({ lane }: Pick<JobDocument, "lane">): string | undefined {
  return lane === undefined || lane.endsWith("/") ? undefined : lane
}

function count(of: Map<string, number>, name: string, change: 1 | -1): void {
  const now = (of.get(name) ?? 0) + change
  if (now > 0) of.set(name, now)
  else of.delete(name)
}
