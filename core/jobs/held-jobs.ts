// The jobs that this node holds: those that wait for a slot of their type, those that run, and those that sleep until
// their next try. Slots and room are shared between organizations: the last quarter of either is for those that hold none,
// unless a type of job says how many of its slots are. A type may limit its keys (pipelines, phone numbers): a key takes at
// most half of what its organization has free, so that jobs of a key that hang leave slots to other keys.
import { FairScheduler, type Share, type Turn } from "../kernel/fair-scheduler.ts"
import type { JobDocument } from "./jobs-collection.ts"

/** Jobs that may wait for each slot; further ones stay in the store for a node that has room. */
const heldPerSlot = 8
/** However many slots there are: a job is kept in memory with what it was given. */
const maxHeld = 128
/** Jobs that may sleep in memory until their next try; they are kept without what they were given. */
const maxSleeping = 1_000
/** A limited key takes another slot while it holds less than this share of what its organization has free: half of all, if it is alone. */
const limitedShare = 1

export interface Slots {
  readonly slots: number
  /** A quarter of them, rounded down, unless given. */
  readonly reservedSlots?: number | undefined
  readonly limitsKeys?: boolean | undefined
}

interface TypeOfJob {
  readonly scheduler: FairScheduler<JobDocument>
  readonly capacity: number
  readonly keyShare: number
  /** Jobs that wait or run, by organization. */
  readonly organizations: Map<string, number>
  /** Jobs that wait or run, by lane; only those with a key. */
  readonly lanes: Map<string, number>
  held: number
  /** Jobs that were held when a look into the store found only jobs without room. */
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

  /** Ids of all that must not be claimed by others. */
  *ids(): Iterable<string> {
    yield* this.#ids
    yield* this.#sleeping.keys()
  }

  has(id: string): boolean {
    return this.#ids.has(id) || this.#sleeping.has(id)
  }

  /** How many more jobs of the type it has room for. */
  capacity(type: string): number {
    const { capacity, held } = this.#type(type)
    return Math.max(0, capacity - held)
  }

  hasRoom(job: Pick<JobDocument, "type" | "organization" | "lane">): boolean {
    return this.fitting([job]).length > 0
  }

  /** Those that fit, taken together and in order; all of one type. */
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

  /** Whether a job fits beside those that are held, and those that are planned by organization and by lane. */
  #fits(job: Pick<JobDocument, "type" | "organization" | "lane">, planned: ReadonlyMap<string, number>, taken: number): boolean {
    const { capacity, keyShare, held, organizations, lanes } = this.#type(job.type)
    const sumOf = (of: ReadonlyMap<string, number>, name: string) => (of.get(name) ?? 0) + (planned.get(name) ?? 0)
    const ofOrganization = sumOf(organizations, job.organization ?? "")
    const reserved = Math.floor(capacity / 4)
    const free = capacity - held - taken
    if (free <= (ofOrganization > 0 ? reserved : 0)) return false
    const lane = keyedLane(job)
    const ofLane = lane === undefined ? 0 : sumOf(lanes, lane)
    // A limited key that holds no job may always take one.
    return ofLane === 0 || ofLane < Math.min(free, capacity - reserved - ofOrganization) * keyShare
  }

  /** Whether there is room enough for a look into the store to be worth it. */
  wantsMore(type: string): boolean {
    const { capacity, held, crowdedAt } = this.#type(type)
    const isCrowded = crowdedAt !== undefined && held > 0 && held > crowdedAt - capacity / 8
    return !isCrowded && capacity - held >= capacity / 2
  }

  /** After a look into the store: all due jobs belong to keys without room, or some did fit. */
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

  /** Jobs whose turn it is; each holds a slot until `done`. */
  *next(): Generator<Turn<JobDocument>> {
    for (const { scheduler } of this.#types.values()) {
      for (let turn = scheduler.next(); turn; turn = scheduler.next()) yield turn
    }
  }

  /** Lets go of a job that ran or waited. */
  release(doc: JobDocument): void {
    const type = this.#type(doc.type)
    const lane = keyedLane(doc)
    this.#ids.delete(doc.id)
    type.held--
    count(type.organizations, doc.organization ?? "", -1)
    if (lane !== undefined) count(type.lanes, lane, -1)
  }

  /** Whether one more may sleep. */
  get maySleep(): boolean {
    return this.#sleeping.size < maxSleeping
  }

  /** Holds a job that ran until it is woken. */
  sleep(id: string, cancel: () => void): void {
    this.#sleeping.set(id, cancel)
  }

  /** False where it no longer sleeps. */
  wake(id: string): boolean {
    this.#sleeping.get(id)?.()
    return this.#sleeping.delete(id)
  }

  /** Takes out all that does not run; returns their ids. */
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

  /** By organization, over all types. */
  shares(): Share[] {
    return [...this.#types.values()].flatMap(({ scheduler }) => scheduler.shares())
  }

  #type(name: string): TypeOfJob {
    let type = this.#types.get(name)
    if (!type) {
      const { slots, reservedSlots = Math.floor(slots / 4), limitsKeys = false } = this.#slotsOf(name)
      const keyShare = limitsKeys ? limitedShare : Number.POSITIVE_INFINITY
      // Room is what bounds it.
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

/** Undefined for jobs without a key, which have no share of their own. */
function keyedLane({ lane }: Pick<JobDocument, "lane">): string | undefined {
  return lane === undefined || lane.endsWith("/") ? undefined : lane
}

function count(of: Map<string, number>, name: string, change: 1 | -1): void {
  const now = (of.get(name) ?? 0) + change
  if (now > 0) of.set(name, now)
  else of.delete(name)
}
