// Passes over all copies. Every few seconds the lease holder updates each copy, merges small segments and sometimes counts days.
// A failure of one organization is logged and marks its copy; other organizations continue. If a copy's file is missing (a
// restored store, a lost folder), the copy is rebuilt from the dataset.
import { type Clock, type Ids, type Leases, type Logger, type Store, timestamp } from "#core"
import type { Dataset, Datasets } from "../../../data/datasets/index.ts"
import { CopiedOrganizations, type Copy, type RowNote, SealingCollection } from "../collections.ts"
import { SegmentMissing } from "../segments/segment-files.ts"
import type { AnalyticsSettings } from "../settings.ts"
import { CopyStore, type CopyStoreDeps, isConflict } from "./copy-store.ts"
import { DayCheck } from "./day-check.ts"
import { LiveList } from "./live-list.ts"
import { Sealer, type SealerDeps } from "./sealer.ts"

export const eventsDataset = "page-events"

export interface PassesDeps extends CopyStoreDeps, Omit<SealerDeps, "segmentRows" | "keepDays"> {
  readonly store: Store
  readonly datasets: Datasets
  readonly clock: Clock
  readonly ids: Ids
  readonly leases: Leases
  readonly log: Logger
  readonly settings: AnalyticsSettings
  /** Updated with the organizations that have a copy, for the row watcher. */
  readonly copied: Set<string>
  /** Called when any node may receive queries. */
  readonly wanted: () => void
}

/** Longest delay of other organizations by one organization's backlog. */
const sliceMs = 1_500
const notesEach = 2_000
/**
 * Renewed with each pass. Two nodes may hold the lease for a moment. The copies' revisions then refuse one of them; work is lost,
 * but no rows.
 */
const lease = { name: "page-analytics:sealer", ms: 15_000 }
const stateId = "sealer"

export class Passes {
  readonly #deps: PassesDeps
  readonly #check: DayCheck
  readonly #list: LiveList
  readonly #sealers = new Map<string, Sealer>()
  readonly #checked = new Map<string, number>()
  #holdsLease = false
  #cancel: () => void = () => undefined
  #under: Promise<void> = Promise.resolve()
  #stopped = true

  constructor(deps: PassesDeps) {
    this.#deps = deps
    this.#check = new DayCheck({ ...deps, keepDays: deps.settings.keep_days })
    this.#list = new LiveList(deps.files)
  }

  start(): void {
    this.#stopped = false
    this.#next(0)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    await this.#under
    if (this.#holdsLease) await this.#deps.leases.release(lease.name).catch(() => undefined)
  }

  #next(afterMs: number): void {
    if (this.#stopped) return
    this.#cancel = this.#deps.clock.after(afterMs, () => {
      const began = this.#deps.clock.monotonic()
      this.#under = this.#pass()
        .catch((error: unknown) => this.#deps.log.error({ err: error }, "page analytics: a pass failed; the next one retries"))
        .then(() => this.#next(Math.max(50, this.#deps.settings.seal_every_ms - (this.#deps.clock.monotonic() - began))))
    })
  }

  async #pass(): Promise<void> {
    const { store, clock, files, leases, settings } = this.#deps
    const beganAt = timestamp(clock.now())
    const organizations: string[] = []
    for await (const { id } of store.open(CopiedOrganizations).stream({})) organizations.push(id)
    for (const id of organizations) this.#deps.copied.add(id)
    if (organizations.length === 0) return
    this.#deps.wanted()
    const isClaimed = await leases.claim(lease.name, lease.ms)
    if (!isClaimed || !this.#holdsLease) this.#forget()
    this.#holdsLease = isClaimed
    if (isClaimed) {
      let whole = true
      for (const organization of organizations) {
        if (this.#stopped) return
        whole = (await this.#sealOne(organization)) && whole
      }
      if (whole && (await leases.claim(lease.name, lease.ms))) await this.#passed(beganAt)
    }
    await files.evict(clock.now(), settings.keep_replaced_ms)
  }

  async #passed(passed_at: string): Promise<void> {
    const { store, ids } = this.#deps
    const write = { kind: "update", collection: SealingCollection, id: stateId, update: { $set: { passed_at } }, upsert: true } as const
    await store.commit({ id: ids.uuid(), writes: [write] })
  }

  /** Clears caches that another node may have outdated. */
  #forget(): void {
    this.#sealers.clear()
    this.#list.forget()
  }

  /** Returns false if the copy is neither caught up nor marked as behind. */
  async #sealOne(organization: string): Promise<boolean> {
    const copies = new CopyStore(this.#deps, organization)
    try {
      await this.#bringUpToDate(copies)
      return true
    } catch (error) {
      this.#sealers.get(organization)?.forget()
      const level = isConflict(error) ? "debug" : "error"
      this.#deps.log[level]({ err: error, organization }, "page analytics: a copy could not be updated; the next pass retries")
      return this.#markBehind(copies)
    }
  }

  async #markBehind(copies: CopyStore): Promise<boolean> {
    try {
      const { live } = await copies.copies()
      if (live?.caught_up) await copies.change(live, { add: [], replace: [], set: { caught_up: false } })
      return true
    } catch {
      // Storage is probably down: the pass does not count as complete.
      return false
    }
  }

  async #bringUpToDate(copies: CopyStore): Promise<void> {
    const { datasets, clock, settings } = this.#deps
    const dataset = await datasets.get(copies.organization, eventsDataset)
    if (!dataset) return
    const sealer = this.#sealerOf(copies)
    if (!(await copies.copies()).live) await copies.first()
    const { live, building } = await copies.copies()
    if (!live) return
    const notes = await copies.notes(notesEach)
    try {
      if (!live.lost) await this.#turn(copies, () => this.#keep(copies, live, dataset, notes))
    } finally {
      // A blocked live copy does not stop its successor.
      if (building) await this.#turn(copies, () => this.#build(copies, building, dataset, notes))
    }
    await copies.removeNotes(notes)
    for (const copy of await this.#currentOf(copies)) await this.#turn(copies, () => sealer.compact(copy))
    await this.#checkDays(copies, sealer, dataset)
    await this.#list.write(copies)
    await copies.sweep(clock.now() - settings.keep_replaced_ms)
  }

  /** Works on one copy. If a file is missing, the copy is rebuilt. */
  async #turn(copies: CopyStore, work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof SegmentMissing) || !(await copies.giveUp(error.segment))) throw error
      this.#sealerOf(copies).forget()
      this.#deps.log.warn(
        { organization: copies.organization, file: error.segment.key },
        "page analytics: a file of the copy is missing; rebuilding the copy from the dataset",
      )
    }
  }

  /** Advances the live copy. If a query missed a file, checks that file first. */
  async #keep(copies: CopyStore, live: Copy, dataset: Dataset, notes: readonly RowNote[]): Promise<void> {
    const { missed } = live
    if (!missed) return void (await this.#advance(copies, live, dataset, notes))
    const looked = (await copies.segments(live)).filter(({ id }) => id === missed)
    await this.#deps.files.require(copies.organization, looked)
    const copy = await copies.change(live, { add: [], replace: [], set: { missed: null } })
    await this.#advance(copies, copy, dataset, notes)
  }

  /** Advances the building copy. Once caught up, it replaces the live copy. */
  async #build(copies: CopyStore, building: Copy, dataset: Dataset, notes: readonly RowNote[]): Promise<void> {
    const built = await this.#advance(copies, building, dataset, notes)
    const { live } = await copies.copies()
    if (built.caughtUp && live) await copies.promote(live, built.copy)
  }

  async #advance(copies: CopyStore, from: Copy, dataset: Dataset, notes: readonly RowNote[]) {
    const sealer = this.#sealerOf(copies)
    const until = this.#deps.clock.monotonic() + sliceMs
    let step = await sealer.advance(from, dataset, notes)
    while (!step.caughtUp && !this.#stopped && this.#deps.clock.monotonic() < until) step = await sealer.advance(step.copy, dataset, [])
    return step
  }

  async #currentOf(copies: CopyStore): Promise<Copy[]> {
    const { live, building } = await copies.copies()
    return (live?.lost ? [building] : [live, building]).filter((copy) => copy !== undefined)
  }

  async #checkDays(copies: CopyStore, sealer: Sealer, dataset: Dataset): Promise<void> {
    const { clock, settings, log } = this.#deps
    const now = clock.monotonic()
    if (now < (this.#checked.get(copies.organization) ?? 0)) return
    await copies.sweepKept()
    const { live } = await copies.copies()
    if (!live?.caught_up) return
    this.#checked.set(copies.organization, now + settings.check_every_ms)
    const days = await this.#check.run(copies, sealer, live, dataset)
    if (days.length > 0) log.info({ organization: copies.organization, days }, "page analytics: resealed days that differed from the store")
  }

  #sealerOf(copies: CopyStore): Sealer {
    const { settings } = this.#deps
    const existing = this.#sealers.get(copies.organization)
    if (existing) return existing
    const sealer = new Sealer({ ...this.#deps, segmentRows: settings.segment_rows, keepDays: settings.keep_days }, copies)
    this.#sealers.set(copies.organization, sealer)
    return sealer
  }
}

/** Returns the start of the last complete pass. */
export async function passedAt(store: Store): Promise<string | null> {
  return (await store.open(SealingCollection).get(stateId))?.passed_at ?? null
}
