// Stages row writes: the hot path of every capturing pipeline. Synchronous once the dataset is in memory. Reads nothing, and
// updates the dataset only with new facts.
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
  /** Column to upsert by. Absent: a new row. */
  readonly key?: string | undefined
  /** Scope column of the key: the same key with another scope value is another row. */
  readonly scope?: string | undefined
  /** Replaces the ID derived from the key or the origin. */
  readonly id?: string | undefined
  /** Do not change the values afterwards. */
  readonly values: Record<string, Json>
  readonly origin: RowOrigin
}

/** Staged changes of one unit of work. */
interface Staged {
  keyedWrites: number
  /** First key columns of datasets without a key, by dataset ID. */
  keys?: Map<string, string>
  /** IDs of datasets with a staged first row without a key. */
  unkeyed?: Set<string>
}

/** Notified of changes to one dataset's rows, in their unit of work. Must not wait or throw. */
export interface RowWatcher {
  written(work: UnitOfWork, organization: string, row: WatchedRow): void
  removed(work: UnitOfWork, organization: string, row: WatchedRow): void
}

export interface WatchedRow {
  readonly id: string
  /** Receipt of the row's event, RFC 3339. Equals `created_at`, unless an earlier write created the row. */
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

  /** Returns a promise only if the dataset is not in memory. Throws AppError for an invalid row. */
  write(work: UnitOfWork, row: RowToWrite): RowResult | Promise<RowResult> {
    const slug = resolveReference(row.dataset, row.organization.slug)
    const dataset = this.#datasets.peek(row.organization.id, slug)
    return dataset ? this.#stage(work, dataset, row) : this.#load(work, slug, row)
  }

  watch(slug: string, watcher: RowWatcher): void {
    this.#watchers.set(slug, watcher)
  }

  /** `optional`: a missing row does not fail the commit. */
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

  /** Sets the dataset's key column on its first keyed write. If two different keys race, one commit is `aborted`. */
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

  /**
   * Staged with every unkeyed row until the first commit, because other commits may fail. The dataset must describe its rows
   * correctly.
   */
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
