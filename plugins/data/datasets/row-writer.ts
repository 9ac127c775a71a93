// Stages the write of a row: the hot path of every pipeline that captures records. Synchronous once the dataset is
// known; reads nothing, and tells the dataset only what is new about it.
import { AppError, type CacheInvalidation, type Json, type RowResult, type UnitOfWork } from "#core"
import { datasetsTopic, keyOf, type Row, RowsCollection } from "./collections.ts"
import { typeOfValue } from "./column-types.ts"
import { DatasetsCollection, resolveReference } from "./dataset.ts"
import type { CachedDataset, DatasetCache } from "./known-datasets.ts"
import { keyedRowId, positionOf, type RowOrigin, unkeyedRowId } from "./row-identity.ts"
import { checkValues } from "./row-values.ts"

export interface RowToWrite {
  readonly organization: { readonly id: string; readonly slug: string }
  /** A slug, or `<org-slug>.<dataset-slug>`. */
  readonly dataset: string
  /** Column to upsert by; absent: a new row. */
  readonly key?: string | undefined
  /** Column that the key counts within: rows of the same key and another value of it are other rows. */
  readonly scope?: string | undefined
  /** In place of the id that follows from the key, or from the origin. */
  readonly id?: string | undefined
  /** Not to be changed after. */
  readonly values: Record<string, Json>
  readonly origin: RowOrigin
}

/** What one unit of work has staged so far. */
interface Staged {
  keyedWrites: number
  /** Key column by dataset id, of datasets that have none yet. */
  keys?: Map<string, string>
  /** Ids of datasets that are told of their first row without a key. */
  unkeyed?: Set<string>
}

/** Told of changes to rows of one dataset, in the unit of work that makes them. Must neither wait nor throw. */
export interface RowWatcher {
  written(work: UnitOfWork, organization: string, row: WatchedRow): void
  removed(work: UnitOfWork, organization: string, row: WatchedRow): void
}

export interface WatchedRow {
  readonly id: string
  /** When its event was received, RFC 3339: its `created_at`, unless an earlier write made it. */
  readonly received_at: string
}

export class RowWriter {
  readonly #watchers = new Map<string, RowWatcher>()
  readonly #datasets: DatasetCache
  readonly #invalidation: CacheInvalidation
  readonly #staged = new WeakMap<UnitOfWork, Staged>()

  constructor(datasets: DatasetCache, invalidation: CacheInvalidation) {
    this.#datasets = datasets
    this.#invalidation = invalidation
  }

  /** A promise only while the dataset is not known yet. Throws AppError for a row that cannot be stored. */
  write(work: UnitOfWork, row: RowToWrite): RowResult | Promise<RowResult> {
    const slug = resolveReference(row.dataset, row.organization.slug)
    const dataset = this.#datasets.peek(row.organization.id, slug)
    return dataset ? this.#stage(work, dataset, row) : this.#load(work, slug, row)
  }

  watch(slug: string, watcher: RowWatcher): void {
    this.#watchers.set(slug, watcher)
  }

  /** `optional`: one that is gone already does not refuse the commit. */
  remove(work: UnitOfWork, organization: string, slug: string, row: WatchedRow, options: { optional?: boolean } = {}): void {
    work.in(RowsCollection, organization).remove(row.id, options)
    this.#watchers.get(slug)?.removed(work, organization, row)
  }

  async #load(work: UnitOfWork, slug: string, row: RowToWrite): Promise<RowResult> {
    const dataset = await this.#datasets.load(row.organization.id, slug)
    if (dataset) return this.#stage(work, dataset, row)
    throw new AppError(
      "not_found",
      `The dataset "${slug}" does not exist. It is created when a pipeline that writes to it is saved, or by POST /v1/datasets.`,
      {
        reason: "dataset_not_found",
        retryable: false,
      },
    )
  }

  #stage(work: UnitOfWork, dataset: CachedDataset, { key, scope, id, values, origin }: RowToWrite): RowResult {
    if (dataset.archived) {
      throw new AppError(
        "failed_precondition",
        `The dataset "${dataset.slug}" is archived and accepts no rows; set its status to active.`,
        {
          reason: "dataset_archived",
          retryable: false,
        },
      )
    }
    checkValues(values)
    const { organization, id: dataset_id, slug } = dataset
    const doc: Row = { id: "", dataset_id, values, created_at: origin.receivedAt, updated_at: origin.receivedAt }
    if (key === undefined) {
      doc.id = id ?? unkeyedRowId(origin)
      if (!dataset.unkeyed) this.#noteUnkeyed(work, dataset)
      work.write({ kind: "insert", collection: RowsCollection, organization, doc, ifPresent: "keep" })
    } else {
      doc.id = id ?? keyedRowId(organization, dataset, key, values, scope)
      const staged = this.#stagedIn(work)
      this.#holdKey(work, dataset, key, staged)
      const position = positionOf(origin, staged.keyedWrites++)
      work.write({ kind: "newest_wins", collection: RowsCollection, organization, doc, position })
    }
    this.#watchers.get(slug)?.written(work, organization, { id: doc.id, received_at: origin.receivedAt })
    for (const name in values) {
      const type = typeOfValue(values[name])
      if (type && !dataset.knows(name, type)) dataset.learn(work, name, type, this.#datasets.clock.monotonic())
    }
    return { row_id: doc.id, dataset_slug: slug }
  }

  /** Fixes the dataset's key column with its first keyed write. Of two that differ and race, one commit is `aborted`. */
  #holdKey(work: UnitOfWork, dataset: CachedDataset, key: string, staged: Staged): void {
    if (dataset.key === key) return
    const rowKey = dataset.key ?? staged.keys?.get(dataset.id)
    if (rowKey === key) return
    if (rowKey !== undefined) {
      throw new AppError(
        "failed_precondition",
        `The dataset "${dataset.slug}" is keyed by "${rowKey}"; this write gives "${key}". Use "${rowKey}", or another dataset.`,
        {
          reason: "key_column_mismatch",
          key: rowKey,
          retryable: false,
        },
      )
    }
    staged.keys ??= new Map()
    staged.keys.set(dataset.id, key)
    work.in(DatasetsCollection, dataset.organization).update(dataset.id, { $set: { key } }, { where: { $or: [{ key: null }, { key }] } })
    this.#invalidation.announce(work, datasetsTopic, keyOf(dataset.organization, dataset.slug))
    work.afterCommit(() => {
      dataset.key = key
    })
  }

  /** With every row until one is committed: the dataset's description of its rows must hold even if other writes fail. */
  #noteUnkeyed(work: UnitOfWork, dataset: CachedDataset): void {
    const staged = this.#stagedIn(work)
    staged.unkeyed ??= new Set()
    const { unkeyed } = staged
    if (unkeyed.has(dataset.id)) return
    unkeyed.add(dataset.id)
    work.in(DatasetsCollection, dataset.organization).update(dataset.id, { $set: { unkeyed: true } }, { optional: true })
    work.afterCommit(() => {
      dataset.unkeyed = true
    })
  }

  #stagedIn(work: UnitOfWork): Staged {
    let staged = this.#staged.get(work)
    if (!staged) {
      staged = { keyedWrites: 0 }
      this.#staged.set(work, staged)
    }
    return staged
  }
}
