// The jobs that this node holds: those that wait for a slot of their type, those that run, and those that sleep until
// their next try. Slots and room are shared between organizations: the last quarter of either is for those that hold none,
// unless a type of job says how many of its slots are.
import { FairScheduler, type Share, type Turn } from "../kernel/fair-scheduler.ts"
import type { JobDocument } from "./jobs-collection.ts"

/** Jobs that may wait for each slot; further ones stay in the store for a node that has room. */
const heldPerSlot = 8
/** However many slots there are: a job is kept in memory with what it was given. */
const maxHeld = 128
/** Jobs that may sleep in memory until their next try; they are kept without what they were given. */
const maxSleeping = 1_000

export interface Slots {
  readonly slots: number
  /** A quarter of them, rounded down, unless given. */
  readonly reservedSlots?: number | undefined
}

interface TypeOfJob {
  readonly scheduler: FairScheduler<JobDocument>
  readonly capacity: number
  /** Jobs that wait or run, by organization. */
  readonly organizations: Map<string, number>
  held: number
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

  hasRoom(type: string, organization: string | null): boolean {
    return this.fitting([{ type, organization }]).length > 0
  }

  /** Those that fit, taken together and in order; all of one type. */
  fitting<J extends Pick<JobDocument, "type" | "organization">>(jobs: readonly J[]): J[] {
    const planned = new Set<string>()
    const fit: J[] = []
    for (const job of jobs) {
      const { capacity, held, organizations } = this.#type(job.type)
      const organization = job.organization ?? ""
      const reserved = organizations.has(organization) || planned.has(organization) ? Math.floor(capacity / 4) : 0
      if (held + fit.length >= capacity - reserved) continue
      planned.add(organization)
      fit.push(job)
    }
    return fit
  }

  /** Whether there is room enough for a look into the store to be worth it. */
  wantsMore(type: string): boolean {
    return this.capacity(type) >= this.#type(type).capacity / 2
  }

  add(doc: JobDocument): void {
    const type = this.#type(doc.type)
    const organization = doc.organization ?? ""
    this.#ids.add(doc.id)
    type.held++
    type.organizations.set(organization, (type.organizations.get(organization) ?? 0) + 1)
    type.scheduler.add(organization, doc.lane ?? "", doc)
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
    const organization = doc.organization ?? ""
    const left = (type.organizations.get(organization) ?? 1) - 1
    this.#ids.delete(doc.id)
    type.held--
    if (left === 0) type.organizations.delete(organization)
    else type.organizations.set(organization, left)
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
      const { slots, reservedSlots = Math.floor(slots / 4) } = this.#slotsOf(name)
      // Room is what bounds it.
      const scheduler = new FairScheduler<JobDocument>({
        maxWaiting: Number.POSITIVE_INFINITY,
        slots,
        reservedSlots,
        refuse: () => undefined,
        now: this.#now,
      })
      type = { scheduler, capacity: Math.max(slots, Math.min(maxHeld, slots * heldPerSlot)), organizations: new Map(), held: 0 }
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
