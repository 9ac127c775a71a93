// The storage port over a driver: isolation of organizations, checks of filters and updates, group commit, paging and streaming.
// It is the same for every driver. A `find` without a limit returns at most 1,000 documents.
import type { CollectionSpec, Document } from "../contract/collection.ts"
import type { Collection, Commit, CommitResult, Filter, FindOptions, Scalar, Store } from "../contract/store.ts"
import { arrivals, type Clock } from "../kernel/clock.ts"
import { AppError } from "../kernel/errors.ts"
import { workGoesOn } from "../kernel/request-scope.ts"
import { GroupCommit, type GroupCommitLimits, type GroupObserver } from "./commit.ts"
import { withStoredTimes } from "./compared-times.ts"
import type { DriverQuery, StorageDriver } from "./driver.ts"
import { checkAfter, checkDeadline, checkFilter, checkLimit, isScalar, maxLimit, type SortKeys, sortKeysOf } from "./filter.ts"
import { checkId, DeclaredCollections } from "./scope.ts"

export interface StoreOptions {
  readonly driver: StorageDriver
  /** Read at `start`, so the list may grow until then. */
  readonly collections: Iterable<CollectionSpec>
  readonly clock: Clock
  readonly limits?: Partial<GroupCommitLimits>
  /** Called for every committed group. */
  readonly observe?: GroupObserver
  /** Default deadline of a read in milliseconds. Default 5,000. */
  readonly readDeadlineMs?: number
  /** Documents per page of `stream`. Default 500. */
  readonly streamPage?: number
}

export interface StartedStore extends Store {
  /** Opens the driver, and throws with all problems. Call this once, before any read or commit. */
  start(): Promise<void>
  /** Collections of the store after `start`. */
  readonly collections: readonly CollectionSpec[]
  /**
   * Returns the ids of the organizations with documents in the collection. It is for work over the whole store, and plugins do
   * not use it.
   */
  organizationsIn(spec: CollectionSpec): Promise<readonly string[]>
  /** Completes the commits in progress, refuses new commits and closes the driver. Allowed without `start`. */
  stop(): Promise<void>
}

const defaultLimit = 1_000
const countLimit = 2_147_483_647
/** Documents of the first page of a stream, and characters of a later page. A page is parsed in one go. */
const firstPage = 100
const pageCharacters = 1_000_000
/** If a commit takes longer than this, other commits would wait as well. */
const maxStallMs = 2_000

export function createStore(options: StoreOptions): StartedStore {
  const { driver, clock, limits, observe } = options
  const group = new GroupCommit({ driver, clock, ...(limits ? { limits } : {}), ...(observe ? { observe } : {}) })
  let declared: DeclaredCollections | undefined
  const reads: ReadOptions = {
    driver,
    deadlineMs: options.readDeadlineMs ?? 5_000,
    streamPage: options.streamPage ?? 500,
    check(spec, organization) {
      started(declared).check(spec, organization)
    },
  }
  return {
    get collections() {
      return started(declared).all
    },
    organizationsIn: (spec) => driver.organizationsIn(spec),
    async start() {
      const collections = new DeclaredCollections(options.collections)
      await driver.start(collections.all)
      declared = collections
    },
    async stop() {
      await group.close()
      await driver.stop()
    },
    open<D extends Document>(spec: CollectionSpec<D>, organization?: string): Collection<D> {
      if (declared) declared.check(spec, organization)
      return new OpenCollection<D>(reads, spec, organization)
    },
    commit(commit: Commit): Promise<CommitResult> {
      try {
        started(declared).checkCommit(commit)
      } catch (error) {
        return Promise.reject(error as Error)
      }
      return commit.writes.length === 0 ? Promise.resolve({ created: [] }) : group.commit(commit)
    },
    async ready() {
      started(declared)
      if (group.stalledMs > maxStallMs) await arrivals()
      const stalled = Math.round(group.stalledMs)
      if (stalled > maxStallMs)
        throw new AppError(
          "unavailable",
          `Commits have been in progress for ${stalled} ms.`,
          { reason: "storage_timeout" },
          { retryAfterS: 1 },
        )
      await driver.ready()
    },
  }
}

function started(declared: DeclaredCollections | undefined): DeclaredCollections {
  if (declared) return declared
  throw new AppError("unavailable", "Storage is not open yet.", { reason: "not_started" }, { retryAfterS: 1 })
}

interface ReadOptions {
  readonly driver: StorageDriver
  readonly deadlineMs: number
  readonly streamPage: number
  check(spec: CollectionSpec, organization: string | undefined): void
}

const byId = [["id", 1]] as const

class OpenCollection<D extends Document> implements Collection<D> {
  readonly #reads: ReadOptions
  readonly #spec: CollectionSpec
  readonly #organization: string | undefined

  constructor(reads: ReadOptions, spec: CollectionSpec, organization: string | undefined) {
    this.#reads = reads
    this.#spec = spec
    this.#organization = organization
  }

  async get(id: string): Promise<D | undefined> {
    this.#reads.check(this.#spec, this.#organization)
    checkId(this.#spec.name, "id", id)
    const [found] = await this.#query({ filter: { id }, sort: byId, limit: 1, after: undefined, deadlineMs: this.#reads.deadlineMs })
    return found
  }

  async find(filter: Filter, options: FindOptions = {}): Promise<D[]> {
    const { name } = this.#spec
    this.#reads.check(this.#spec, this.#organization)
    checkFilter(name, filter)
    const sort = sortKeysOf(name, options.sort ?? {})
    if (options.after) checkAfter(name, options.after, sort)
    const limit = checkLimit(name, options.limit ?? defaultLimit, maxLimit)
    const deadlineMs = checkDeadline(name, options.deadlineMs ?? this.#reads.deadlineMs)
    return this.#query({
      filter: withStoredTimes(this.#spec, filter),
      sort,
      limit,
      after: options.after,
      deadlineMs,
      snapshot: options.snapshot ?? false,
    })
  }

  async first(filter: Filter, options: Omit<FindOptions, "limit"> = {}): Promise<D | undefined> {
    const [found] = await this.find(filter, { ...options, limit: 1 })
    return found
  }

  async count(filter: Filter, options: { limit?: number; deadlineMs?: number } = {}): Promise<number> {
    const { name } = this.#spec
    this.#reads.check(this.#spec, this.#organization)
    checkFilter(name, filter)
    const limit = checkLimit(name, options.limit ?? countLimit, countLimit)
    const deadlineMs = checkDeadline(name, options.deadlineMs ?? this.#reads.deadlineMs)
    const query = { collection: this.#spec, organization: this.#organization, filter: withStoredTimes(this.#spec, filter) }
    return this.#reads.driver.count({ ...query, limit, deadlineMs })
  }

  async *stream(filter: Filter, options: Omit<FindOptions, "after"> = {}): AsyncGenerator<D, void, undefined> {
    const sort = sortKeysOf(this.#spec.name, options.sort ?? {})
    let left = options.limit === undefined ? Number.POSITIVE_INFINITY : checkLimit(this.#spec.name, options.limit, countLimit)
    let after: readonly Scalar[] | undefined
    let pageSize = Math.min(firstPage, this.#reads.streamPage)
    while (left > 0) {
      const limit = Math.min(left, pageSize)
      const page = await this.find(filter, { ...options, limit, ...(after ? { after } : {}) })
      yield* page
      const last = page.at(-1)
      if (!last || page.length < limit) return
      left -= page.length
      const fitting = Math.floor(pageCharacters / JSON.stringify(last).length)
      pageSize = Math.max(1, Math.min(fitting, this.#reads.streamPage))
      after = this.#positionOf(last, sort)
    }
  }

  async #query(query: Omit<DriverQuery, "collection" | "organization">): Promise<D[]> {
    const found = await this.#reads.driver.find({ ...query, collection: this.#spec, organization: this.#organization })
    workGoesOn()
    const { restore } = this.#spec
    return (restore ? found.map(restore) : found) as D[]
  }

  #positionOf(document: Document, sort: SortKeys): Scalar[] {
    return sort.map(([path]) => {
      let value: unknown = document
      for (const segment of path.split(".")) {
        const inside = typeof value === "object" && value !== null && Object.hasOwn(value, segment)
        value = inside ? (value as Record<string, unknown>)[segment] : null
      }
      if (isScalar(value)) return value
      const message = `${this.#spec.name}: document ${document.id} cannot be paged past: ${JSON.stringify(path)} holds a list or object. Sort by plain values.`
      throw new AppError("failed_precondition", message, { reason: "unsortable_value", collection: this.#spec.name })
    })
  }
}
