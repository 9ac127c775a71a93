// Makes the index from the journal, behind the events: in the order of receipt, one node at a time, in a small share of a busy
// node's time. Few events are left to become more; a search reads what the index does not reach yet.
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
  /** Fewer are left to be read by searches. Default 1,024. */
  readonly minEntries?: number
}

const dayMs = 86_400_000
const everyMs = 10_000
/** Commits take that long at most; later ones are noted as late. */
const behindMs = 6 * lateMs
const perSegment = 4_096
const perWindow = 8 * perSegment
const perRead = 250
const postingsAtOnce = 4_096
const leaseMs = 120_000
/** Of a busy node's time, the index takes one part in so many. */
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
  /** Until then nobody else can have the lease, and it is not asked for again. */
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

  /** Indexes what is due in every organization. */
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

  /** Claims the lease again when a quarter of it has passed: a commit for each organization would cost more than to look. */
  async #holdsLease(): Promise<boolean> {
    const { leases, clock } = this.#deps
    const now = clock.monotonic()
    if (now < this.#heldUntil) return true
    if (!(await leases.claim("event-index", leaseMs))) return false
    this.#heldUntil = now + leaseMs / 4
    return true
  }

  /** Some segments, where there is enough for one. Returns whether nothing is due behind them. */
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
    // What was made so far expires; the window begins again.
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

  /** Whether there is enough for a segment, or anything that has waited for a day. */
  async #isDue(organization: string, from: string, until: string): Promise<boolean> {
    const journal = this.#deps.store.open(EntryCollection, organization)
    const received_at = { $gt: from, $lte: until }
    const first = await journal.first({ received_at }, { sort: { received_at: 1 } })
    if (!first) return false
    const hasWaited = Date.parse(until) - Date.parse(first.received_at) > dayMs
    return hasWaited || (await journal.count({ received_at }, { limit: this.#minEntries })) >= this.#minEntries
  }

  /** Reads until there is no more, or enough for now. Returns up to when; undefined where it was stopped. */
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
      // What was received in the same moment belongs to it.
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

  /** Lets events go first: where the node is busy, for many times as long as was worked. */
  async #rest(): Promise<void> {
    const worked = performance.now() - this.#worked
    if (worked < minWorkMs) return
    const before = performance.eventLoopUtilization()
    await sleep(this.#deps.clock, (this.#isBusy ? share : 0.25) * Math.min(worked, maxWorkMs))
    // Of others: nothing was done here meanwhile.
    this.#isBusy = performance.eventLoopUtilization(before).utilization > busyAbove
    this.#worked = performance.now()
  }
}

/** Makes segments of entries that come in the order of receipt: of one day each, so that a segment expires with what is in it. */
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
