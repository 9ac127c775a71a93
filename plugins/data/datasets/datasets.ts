// The datasets of an organization: making, finding and changing them, and the one way in which rows are written.
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
  /** Absent: made from the name, with -2, -3, ... where that is taken. */
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
  /** Stages a row write; see RowWriter. A promise only while the dataset is not in memory yet. */
  write(work: UnitOfWork, row: RowToWrite): RowResult | Promise<RowResult>
  /** The slug within the organization of `<slug>` or `<org-slug>.<slug>`; throws `invalid_argument` for another organization's, and for a UUID. */
  resolve(reference: string, organization: Owner): string
  /** Stages the dataset that a reference names unless there is one. Staging it in two units of work makes it once. */
  ensure(
    work: UnitOfWork,
    organization: Owner,
    reference: string,
    fields?: Partial<NewDataset>,
  ): Promise<{ slug: string; created: boolean }>
  /** By slug or UUID. */
  get(organization: string, slugOrId: string): Promise<Dataset | undefined>
  /** As `get`; throws `not_found`. */
  require(organization: string, slugOrId: string): Promise<Dataset>
  /** Keeps a slug for one plugin: nobody else makes a dataset of it, writes rows to it, names it as a target or archives it. To be called while services are created. */
  reserve(slug: string, what: string, options?: { readonly scope?: string }): ReservedDataset
  rows(organization: string): Collection<Row>
  /** What to ask of `rows` for a caller's filter and sort (row-query.ts); throws `invalid_argument`, also for a read that no index would serve in a dataset too large for it. */
  query(organization: string, dataset: Dataset, query: { filter: string; sort: string }): Promise<RowQuery>
  /** Stages that a row goes, and tells who watches its dataset. */
  remove(work: UnitOfWork, organization: string, dataset: Dataset, row: Row): void
  /** Tells of rows written to and removed from each organization's dataset of this slug; one watcher a slug. To be called while services are created. */
  watch(slug: string, watcher: RowWatcher): void
  /** Throws what a guard throws. `receivedAt`: of the event that the rows were made of; absent: they come from no event. */
  requireWritable(organization: string, rows: readonly Readonly<Record<string, Json>>[], receivedAt?: string): Promise<void>
}

/** Throws AppError if a row from an earlier event or from a file must not be stored. */
export type RowGuard = (
  organization: string,
  rows: readonly Readonly<Record<string, Json>>[],
  receivedAt: string | undefined,
) => Promise<void>

export const RowGuards = defineExtensionPoint<RowGuard>({ id: "datasets.row-guards" })

/** A dataset that is written through here and nowhere else. */
export interface ReservedDataset {
  ensure(work: UnitOfWork, organization: Owner, fields: Partial<NewDataset>): Promise<{ slug: string; created: boolean }>
  write(work: UnitOfWork, row: Omit<RowToWrite, "dataset" | "scope">): RowResult | Promise<RowResult>
  /** Stages that a row goes, where it is still there. `received_at`: of the event that made it. */
  remove(work: UnitOfWork, organization: Owner, row: { readonly id: string; readonly received_at: string }): void
  /** The same of the row that a write of these values by this key made. `values`: those of the key, and of its scope. */
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
  /** Rows that a read may go through without an index. */
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

  /** Of reserved datasets: the column that their key counts within. */
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

/** The id follows from the slug, which never changes: the same dataset made twice at once is one. */
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
