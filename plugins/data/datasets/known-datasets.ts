// Caches written datasets in memory, so row writes need no reads. A change of a dataset on any node removes it from the cache.
// New columns are added after their commits.
import { allKeys, type CacheInvalidation, type Clock, type Store, type UnitOfWork } from "#core"
import { datasetsTopic, keyOf, maxColumns } from "./collections.ts"
import type { ColumnType } from "./column-types.ts"
import { type Dataset, DatasetsCollection } from "./dataset.ts"

const maxKnown = 10_000
/** Milliseconds during which one event's staged column keeps other events from staging it again. */
const claimMs = 1_000

export class CachedDataset {
  readonly id: string
  readonly organization: string
  readonly slug: string
  readonly archived: boolean
  key: string | null
  /** True if the dataset has, or may have, rows without a key. */
  unkeyed: boolean
  readonly #types = new Map<string, Set<ColumnType>>()
  readonly #claims = new Map<string, number>()

  constructor(organization: string, dataset: Dataset) {
    this.id = dataset.id
    this.organization = organization
    this.slug = dataset.slug
    this.archived = dataset.status === "archived"
    this.key = dataset.key
    this.unkeyed = dataset.unkeyed !== false
    for (const { name, type } of dataset.columns) this.#add(name, type)
  }

  knows(name: string, type: ColumnType): boolean {
    return this.#types.get(name)?.has(type) === true
  }

  /** Stages a new type of a column. Skips it if another event stages it, or if the dataset has the maximum number of columns. */
  learn(work: UnitOfWork, name: string, type: ColumnType, now: number): void {
    if (this.#types.size >= maxColumns && !this.#types.has(name)) return
    const claim = `${type} ${name}`
    const claimed = this.#claims.get(claim)
    if (claimed !== undefined && now - claimed < claimMs) return
    if (this.#claims.size >= maxColumns) this.#claims.clear()
    this.#claims.set(claim, now)
    work.in(DatasetsCollection, this.organization).update(this.id, { $addToSet: { columns: { name, type } } }, { optional: true })
    work.afterCommit(() => {
      this.#claims.delete(claim)
      this.#add(name, type)
    })
  }

  #add(name: string, type: ColumnType): void {
    const types = this.#types.get(name)
    if (types) types.add(type)
    else this.#types.set(name, new Set([type]))
  }
}

export class DatasetCache {
  readonly #store: Store
  readonly #cached = new Map<string, CachedDataset>()
  readonly #loading = new Map<string, Promise<CachedDataset | undefined>>()
  readonly clock: Clock
  #generation = 0

  constructor({ store, invalidation, clock }: { store: Store; invalidation: CacheInvalidation; clock: Clock }) {
    this.#store = store
    this.clock = clock
    invalidation.onChange(datasetsTopic, (key) => this.#drop(key))
  }

  peek(organization: string, slug: string): CachedDataset | undefined {
    return this.#cached.get(keyOf(organization, slug))
  }

  /** Returns undefined for a missing dataset, without caching the absence. A new dataset is therefore found at once. */
  load(organization: string, slug: string): Promise<CachedDataset | undefined> {
    const key = keyOf(organization, slug)
    const under = this.#loading.get(key)
    if (under) return under
    const loading = this.#read(organization, slug).finally(() => {
      if (this.#loading.get(key) === loading) this.#loading.delete(key)
    })
    this.#loading.set(key, loading)
    return loading
  }

  async #read(organization: string, slug: string): Promise<CachedDataset | undefined> {
    const generation = this.#generation
    const stored = await this.#store.open(DatasetsCollection, organization).first({ slug })
    if (!stored) return undefined
    const dataset = new CachedDataset(organization, stored)
    if (generation !== this.#generation) return dataset
    if (this.#cached.size >= maxKnown) this.#cached.clear()
    this.#cached.set(keyOf(organization, slug), dataset)
    return dataset
  }

  #drop(key: string): void {
    this.#generation++
    if (key === allKeys) {
      this.#cached.clear()
      this.#loading.clear()
    } else {
      this.#cached.delete(key)
      this.#loading.delete(key)
    }
  }
}
