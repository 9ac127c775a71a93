// Builds the event index from the journal in the background. Runs on one node at a time, in order of receipt. On a busy node the
// index uses a small share of the time. Few new events wait for more; a search reads unindexed events directly.
import { type Clock, type Ids, type Leases, type Logger, type Store, timestamp, token, type UnitsOfWork } from "#core"
import { EntryCollection, type JournalEntry, LateEntryCollection, lateMs, retainedEntry, sleep } from "#core/engine"
import { bitsFor, Postings } from "#core/search"
import type { EventIndex, Segment } from "../collections.ts"
import { bodiesApart, entryText } from "./entry-text.ts"
import { Merging, mergeable } from "./merging.ts"
import { blocksOf, idsPerBlock, partsOf, readIndex, stageIndex, writeParts } from "./stored-index.ts"
import { tokens } from "./tokens.ts"

export interface BuilderDeps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly clock: Clock
  readonly ids: Ids
  readonly leases: Leases
  readonly log: Logger
  readonly organizations: () => AsyncIterable<{ readonly id: string }>
  readonly payloadsDays: number
  /** Minimum number of entries for indexing. Searches read fewer entries directly. Default 1,024. */
  readonly minEntries?: number
}

const dayMs = 86_400_000
const everyMs = 10_000
/** Delay behind the current time, since a commit may take this long. Later entries are recorded as late. */
const behindMs = 6 * lateMs
const perSegment = 4_096
const perWindow = 8 * perSegment
const perRead = 250
const postingsAtOnce = 4_096
const leaseMs = 120_000
/** On a busy node the index uses at most one part in `share` of the time. */
const share = 40
const busyAbove = 0.5
const minWorkMs = 5
const maxWorkMs = 25

export class IndexBuilder {
  readonly #deps: BuilderDeps
  readonly #merging: Merging
  readonly #minEntries: number
  #cancel: () => void = () => undefined
  #turning: Promise<void> = Promise.resolve()
  #stopped = false
  #isBusy = false
  #worked = performance.now()
  /** Monotonic time until which this node's lease is certain and needs no new claim. */
  #heldUntil = Number.NEGATIVE_INFINITY

  constructor(deps: BuilderDeps) {
    this.#deps = deps
    this.#minEntries = deps.minEntries ?? 1_024
    this.#merging = new Merging({ ...deps, rest: () => this.#rest() })
  }

  start(): void {
    this.#next(everyMs)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    await this.#turning
  }

  #next(afterMs: number): void {
    if (this.#stopped) return
    this.#cancel = this.#deps.clock.after(afterMs, () => {
      const began = performance.now()
      this.turn()
        .catch((error: unknown) => this.#deps.log.warn({ err: error }, "events could not be indexed; retrying"))
        .finally(() => this.#next(Math.max(everyMs, share * (performance.now() - began))))
    })
  }

  /** Indexes the due entries of every organization. */
  turn(): Promise<void> {
    const turn = this.#turning.then(() => this.#each())
    this.#turning = turn.catch(() => undefined)
    return turn
  }

  async #each(): Promise<void> {
    for await (const { id } of this.#deps.organizations()) {
      if (this.#stopped || !(await this.#holdsLease())) return
      await this.#organization(id)
    }
  }

  async #organization(organization: string): Promise<void> {
    for (;;) {
      const index = await readIndex(this.#deps.store, organization)
      const last = await this.#window(organization, index)
      const merged = await this.#merge(organization)
      if (this.#stopped || (last && !merged)) return
      if (!(await this.#holdsLease())) return
    }
  }

  /** Claims the lease again after a quarter of its duration. One claim per organization would cost more than the check. */
  async #holdsLease(): Promise<boolean> {
    const { leases, clock } = this.#deps
    const now = clock.monotonic()
    if (now < this.#heldUntil) return true
    if (!(await leases.claim("event-index", leaseMs))) return false
    this.#heldUntil = now + leaseMs / 4
    return true
  }

  /** Builds segments if enough entries are due. Returns true if no more entries are due. */
  async #window(organization: string, index: EventIndex): Promise<boolean> {
    const { store, clock, works, payloadsDays } = this.#deps
    const now = clock.now()
    const from = index.through === "" ? timestamp(now - payloadsDays * dayMs) : index.through
    const until = timestamp(now - behindMs)
    const late = (await store.open(LateEntryCollection, organization).find({}, { limit: perRead })).map(({ id }) => id)
    const isDue = await this.#isDue(organization, from, until)
    if (!isDue && late.length < perRead) return true
    const batches = new Batches((entries) => this.#segment(organization, entries))
    const through = isDue ? await this.#read(organization, from, until, batches) : index.through
    // The run was stopped. Parts written so far expire, and the next run repeats this window.
    if (through === undefined) return true
    if (late.length > 0) {
      const found = await store.open(EntryCollection, organization).find({ id: { $in: late } }, { limit: late.length })
      await batches.add(found.sort((a, b) => (a.received_at < b.received_at ? -1 : 1)))
    }
    const segments = [...index.segments.filter(({ to }) => to > timestamp(now - payloadsDays * dayMs)), ...(await batches.made())]
    await works.run((work) => {
      stageIndex(work, index, { through, segments })
      for (const id of late) work.in(LateEntryCollection, organization).remove(id, { optional: true })
    })
    return through === until
  }

  /** Returns true if enough entries for a segment are due, or if an entry has waited for a day. */
  async #isDue(organization: string, from: string, until: string): Promise<boolean> {
    const journal = this.#deps.store.open(EntryCollection, organization)
    const received_at = { $gt: from, $lte: until }
    const first = await journal.first({ received_at }, { sort: { received_at: 1 } })
    if (!first) return false
    const hasWaited = Date.parse(until) - Date.parse(first.received_at) > dayMs
    return hasWaited || (await journal.count({ received_at }, { limit: this.#minEntries })) >= this.#minEntries
  }

  /** Reads entries until the end or the window's bound. Returns the receipt time reached, or undefined if the run was stopped. */
  async #read(organization: string, from: string, until: string, batches: Batches): Promise<string | undefined> {
    const journal = this.#deps.store.open(EntryCollection, organization)
    let end = until
    let last: JournalEntry | undefined
    for (let count = 0; ; ) {
      const after = last && [last.received_at, last.id]
      const filter = { received_at: { $gt: from, $lte: end } }
      const some = await journal.find(filter, { sort: { received_at: 1 }, limit: perRead, ...(after && { after }) })
      await batches.add(some)
      last = some.at(-1)
      count += some.length
      if (!last || some.length < perRead) return end
      // The window includes all entries of the same millisecond.
      if (count >= perWindow) end = last.received_at
      if (this.#stopped) return undefined
      await this.#rest()
    }
  }

  async #segment(organization: string, entries: readonly JournalEntry[]): Promise<Segment> {
    const { store, clock, ids, payloadsDays } = this.#deps
    const now = clock.now()
    const sorted = [...entries].sort((a, b) => (a.received_at < b.received_at ? -1 : 1))
    const postings = new Postings()
    for (let from = 0; from < sorted.length; from += perRead) {
      const some = sorted.slice(from, from + perRead)
      const bodies = await bodiesApart(store, organization, some)
      for (const [place, entry] of some.entries()) {
        const text = entryText(retainedEntry(entry, payloadsDays, now), bodies.get(entry.id))
        tokens(text, (token) => postings.add(token, from + place))
        await this.#rest()
      }
    }
    let [count, looked] = [0, 0]
    for (const { ordinals } of postings.sorted()) {
      count += ordinals.length
      if (++looked % postingsAtOnce === 0) await this.#rest()
    }
    const bits = bitsFor(count)
    const id = ids.uuid()
    const [first, last] = [sorted[0], sorted.at(-1)]
    if (!first || !last) throw new Error("A segment holds entries.")
    const segment = { id, entries: sorted.length, bits, ids_per_block: idsPerBlock, from: first.received_at, to: last.received_at }
    const writer = { ...this.#deps, rest: () => this.#rest() }
    await writeParts(
      writer,
      organization,
      segment,
      blocksOf(
        id,
        sorted.map((entry) => entry.id),
      ),
    )
    await writeParts(writer, organization, segment, partsOf(id, postings.sorted(), bits))
    return segment
  }

  async #merge(organization: string): Promise<boolean> {
    const index = await readIndex(this.#deps.store, organization)
    const sources = mergeable(index.segments)
    if (sources.length === 0 || this.#stopped) return false
    const merged = await this.#merging.merge(organization, sources)
    await this.#deps.works.run((work) => {
      const kept = index.segments.filter((one) => !sources.includes(one))
      stageIndex(work, index, { through: index.through, segments: [...kept, merged] })
    })
    await this.#merging.remove(organization, sources)
    return true
  }

  /** Yields to events. On a busy node the pause is `share` times as long as the work. */
  async #rest(): Promise<void> {
    const worked = performance.now() - this.#worked
    if (worked < minWorkMs) return
    const before = performance.eventLoopUtilization()
    await sleep(this.#deps.clock, (this.#isBusy ? share : 0.25) * Math.min(worked, maxWorkMs))
    // Load of other work: this code was idle during the pause.
    this.#isBusy = performance.eventLoopUtilization(before).utilization > busyAbove
    this.#worked = performance.now()
  }
}

/** Builds segments from entries in order of receipt. A segment covers one day, so it expires together with its entries. */
class Batches {
  readonly #make: (entries: readonly JournalEntry[]) => Promise<Segment>
  readonly #made: Segment[] = []
  #batch: JournalEntry[] = []

  constructor(make: (entries: readonly JournalEntry[]) => Promise<Segment>) {
    this.#make = make
  }

  async add(entries: readonly JournalEntry[]): Promise<void> {
    for (const entry of entries) {
      const isOtherDay = this.#batch[0] && this.#batch[0].received_at.slice(0, 10) !== entry.received_at.slice(0, 10)
      if (isOtherDay || this.#batch.length === perSegment) await this.#flush()
      this.#batch.push(entry)
    }
  }

  async made(): Promise<Segment[]> {
    await this.#flush()
    return this.#made
  }

  async #flush(): Promise<void> {
    if (this.#batch.length === 0) return
    this.#made.push(await this.#make(this.#batch))
    this.#batch = []
  }
}

export const BuilderToken = token<IndexBuilder>("EventIndexBuilder")
