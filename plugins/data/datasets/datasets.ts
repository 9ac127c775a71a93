// The datasets of an organization: creates, finds and changes them, and writes their rows.
import {
  type CacheInvalidation,
  type Clock,
  type Collection,
  defineExtensionPoint,
  type Json,
  type Live,
  type RowResult,
  type Store,
  timestamp,
  token,
  type UnitOfWork,
} from "#core"
import { type Row, RowsCollection } from "./collections.ts"
import { type Dataset, DatasetResource, DatasetsCollection, datasetId, newFields, type Reservations, resolveReference } from "./dataset.ts"
import { DatasetCache } from "./known-datasets.ts"
import { keyedRowId } from "./row-identity.ts"
import { type RowFollower, RowNews } from "./row-news.ts"
import { type RowQuery, RowScans } from "./row-scans.ts"
import { type RowToWrite, type RowWatcher, RowWriter } from "./row-writer.ts"

export interface NewDataset {
  readonly name: string
  /** Absent: derived from the name, with the suffix -2, -3, ... if the slug is taken. */
  readonly slug?: string | undefined
  readonly description?: string | undefined
  readonly class?: Dataset["class"] | undefined
  readonly purpose?: string | undefined
}

interface Owner {
  readonly id: string
  readonly slug: string
}

export interface Datasets {
  /** Stages a row write; see RowWriter. Returns a promise only if the dataset is not in memory yet. */
  write(work: UnitOfWork, row: RowToWrite): RowResult | Promise<RowResult>
  /**
   * Returns the slug of `<slug>` or `<org-slug>.<slug>` in the organization. Throws `invalid_argument` for another organization
   * and for a UUID.
   */
  resolve(reference: string, organization: Owner): string
  /** Stages a missing dataset of a reference. Two units of work that stage it create one dataset. */
  ensure(
    work: UnitOfWork,
    organization: Owner,
    reference: string,
    fields?: Partial<NewDataset>,
  ): Promise<{ slug: string; created: boolean }>
  /** Finds a dataset by slug or UUID. */
  get(organization: string, slugOrId: string): Promise<Dataset | undefined>
  /** Like `get`, but throws `not_found`. */
  require(organization: string, slugOrId: string): Promise<Dataset>
  /**
   * Reserves a slug for one plugin. Other callers cannot create, write, target or archive this dataset. Call it during the
   * creation of services.
   */
  reserve(slug: string, what: string, options?: { readonly scope?: string }): ReservedDataset
  rows(organization: string): Collection<Row>
  /**
   * Returns the query on `rows` for a caller's filter and sort (row-query.ts). Throws `invalid_argument` for invalid text, and
   * for an unindexed read of a dataset above the scan limit.
   */
  query(organization: string, dataset: Dataset, query: { filter: string; sort: string }): Promise<RowQuery>
  /** Stages the removal of a row, and notifies the dataset's watcher. */
  remove(work: UnitOfWork, organization: string, dataset: Dataset, row: Row): void
  /**
   * Notifies the watcher of written and removed rows in each organization's dataset of this slug. One watcher per slug. Call it
   * during the creation of services.
   */
  watch(slug: string, watcher: RowWatcher): void
  /** Throws the error of a guard. `receivedAt` is the receipt of the rows' event. Absent for rows without an event. */
  requireWritable(organization: string, rows: readonly Readonly<Record<string, Json>>[], receivedAt?: string): Promise<void>
}

/** Throws AppError if a row from an earlier event or from a file must not be stored. */
export type RowGuard = (
  organization: string,
  rows: readonly Readonly<Record<string, Json>>[],
  receivedAt: string | undefined,
) => Promise<void>

export const RowGuards = defineExtensionPoint<RowGuard>({ id: "datasets.row-guards" })

/** A reserved dataset, writable only through this interface. */
export interface ReservedDataset {
  ensure(work: UnitOfWork, organization: Owner, fields: Partial<NewDataset>): Promise<{ slug: string; created: boolean }>
  write(work: UnitOfWork, row: Omit<RowToWrite, "dataset" | "scope">): RowResult | Promise<RowResult>
  /** Stages the removal of a row if it still exists. `received_at` is the receipt of the row's event. */
  remove(work: UnitOfWork, organization: Owner, row: { readonly id: string; readonly received_at: string }): void
  /** Stages the removal of a keyed row. `values` contains the values of the key and of its scope. */
  removeByKey(work: UnitOfWork, organization: Owner, row: KeyedRow): Promise<void>
}

export interface KeyedRow {
  readonly key: string
  readonly values: Readonly<Record<string, Json>>
  readonly received_at: string
}

export const Datasets = token<Datasets>("Datasets")

export interface DatasetsDeps {
  readonly store: Store
  readonly invalidation: CacheInvalidation
  readonly clock: Clock
  readonly live: Live
  readonly guards: readonly RowGuard[]
  readonly followers: readonly RowFollower[]
  readonly reservations: Reservations
  /** Maximum rows scanned by a read without an index. */
  readonly maxScannedRows: number
}

export function createDatasets({
  store,
  invalidation,
  clock,
  live,
  guards,
  followers,
  reservations,
  maxScannedRows,
}: DatasetsDeps): Datasets {
  const datasets = new DatasetCache({ store, invalidation, clock })
  const writer = new RowWriter(datasets, invalidation)
  const news = new RowNews(live)
  const rowsOf = (organization: string) => store.open(RowsCollection, organization)
  const scans = new RowScans(clock, maxScannedRows)

  /** Scope columns of the keys of reserved datasets. */
  const scopes = new Map<string, string>()
  function refuseReserved(slug: string): void {
    const refusal = reservations.refusal(slug)
    if (refusal) throw refusal
  }

  async function ensure(work: UnitOfWork, organization: Owner, slug: string, fields: Partial<NewDataset>) {
    if (datasets.peek(organization.id, slug) ?? (await datasets.load(organization.id, slug))) return { slug, created: false }
    const dataset = newDataset(organization.id, slug, { ...fields, name: fields.name ?? nameOf(slug) }, clock.now())
    work.in(DatasetsCollection, organization.id).insert(dataset, { ifPresent: "keep" })
    return { slug, created: true }
  }

  return {
    write(work, row) {
      const { organization, values } = row
      refuseReserved(resolveReference(row.dataset, organization.slug))
      const publish = (result: RowResult) => {
        news.written(work, organization.id, result.dataset_slug, result.row_id, values)
        for (const follower of followers) {
          follower({
            organization: organization.id,
            dataset: result.dataset_slug,
            row_id: result.row_id,
            values,
            origin: row.origin,
            work,
          })
        }
        return result
      }
      const write = writer.write(work, row)
      return write instanceof Promise ? write.then(publish) : publish(write)
    },
    async requireWritable(organization, rows, receivedAt) {
      for (const guard of guards) await guard(organization, rows, receivedAt)
    },
    reserve(slug, what, { scope } = {}) {
      reservations.reserve(slug, what)
      if (scope !== undefined) scopes.set(slug, scope)
      const remove: ReservedDataset["remove"] = (work, organization, row) => {
        writer.remove(work, organization.id, slug, row, { optional: true })
        news.deleted(work, organization.id, slug, row.id)
      }
      return {
        ensure: (work, organization, fields) => ensure(work, organization, slug, fields),
        write: (work, row) => writer.write(work, { ...row, scope, dataset: slug }),
        remove,
        async removeByKey(work, organization, { key, values, received_at }) {
          const dataset = datasets.peek(organization.id, slug) ?? (await datasets.load(organization.id, slug))
          if (dataset) remove(work, organization, { id: keyedRowId(organization.id, dataset, key, values, scope), received_at })
        },
      }
    },
    resolve: (reference, organization) => resolveReference(reference, organization.slug),
    get: (organization, slugOrId) => DatasetResource.items.find(store, organization, slugOrId),
    require: (organization, slugOrId) => DatasetResource.items.require(store, organization, slugOrId),
    rows: rowsOf,
    query: (organization, dataset, query) => scans.query(rowsOf(organization), organization, dataset, query, scopes.get(dataset.slug)),
    remove(work, organization, dataset, row) {
      writer.remove(work, organization, dataset.slug, { id: row.id, received_at: row.created_at })
      news.deleted(work, organization, dataset.slug, row.id)
    },
    watch: (slug, watcher) => writer.watch(slug, watcher),
    async ensure(work, organization, reference, fields = {}) {
      const slug = resolveReference(reference, organization.slug)
      refuseReserved(slug)
      return ensure(work, organization, slug, fields)
    },
  }
}

/** Derives the ID from the fixed slug, so concurrent creations result in one dataset. */
function newDataset(organization: string, slug: string, fields: NewDataset, now: number): Dataset {
  const at = timestamp(now)
  return {
    ...newFields,
    id: datasetId(organization, slug),
    slug,
    name: fields.name,
    description: fields.description ?? "",
    class: fields.class ?? "table",
    purpose: fields.purpose ?? "",
    status: "active",
    columns: [],
    revision: 1,
    created_at: at,
    updated_at: at,
  }
}

function nameOf(slug: string): string {
  const words = slug.replaceAll("-", " ")
  return words.charAt(0).toUpperCase() + words.slice(1)
}
