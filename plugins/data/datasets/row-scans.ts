// Bounds scans of large datasets. An unindexed condition is allowed only if the indexes leave few rows. The number of these rows
// is counted up to the bound, and cached for a while.
import { AppError, type Clock, type Collection, type Filter } from "#core"
import type { Sort } from "#core/engine"
import { blanksOf, findingBlanks } from "./blank-columns.ts"
import type { Row } from "./collections.ts"
import type { Dataset } from "./dataset.ts"
import { indexedColumns, type ServedQuery, servedQuery } from "./row-index.ts"
import { readFilter, readSort } from "./row-query.ts"

export interface RowQuery {
  readonly filter: Filter
  readonly sort: Sort
}

interface Counted {
  readonly beyond: Promise<boolean>
  /** Monotonic milliseconds. */
  readonly until: number
}

const keptMs = 60_000
const maxKept = 1_000

export class RowScans {
  readonly #clock: Clock
  readonly #most: number
  readonly #counted = new Map<string, Counted>()

  /** `most`: maximum rows scanned by a read without an index. */
  constructor(clock: Clock, most: number) {
    this.#clock = clock
    this.#most = most
  }

  /** Returns the store's query. Throws `invalid_argument` for an invalid filter or sort, and for a scan above the bound. */
  async query(
    rows: Collection<Row>,
    organization: string,
    dataset: Dataset,
    query: { filter: string; sort: string },
    scope?: string,
  ): Promise<RowQuery> {
    const filter = readFilter(query.filter)
    const sort = readSort(query.sort)
    const served = servedQuery(organization, dataset, filter, sort, scope)
    if (served.unserved.length > 0 && !served.byId && (await this.#isBeyond(rows, served.narrowing)))
      throw this.#refusal(dataset, served, scope)
    return { filter: { $and: [served.narrowing, findingBlanks(filter, blanksOf(dataset))] }, sort }
  }

  #isBeyond(rows: Collection<Row>, narrowing: Filter): Promise<boolean> {
    const name = JSON.stringify(narrowing)
    const counted = this.#counted.get(name)
    const now = this.#clock.monotonic()
    if (counted && now < counted.until) return counted.beyond
    if (this.#counted.size >= maxKept) this.#counted.clear()
    const beyond = rows.count(narrowing, { limit: this.#most + 1 }).then((count) => count > this.#most)
    this.#counted.set(name, { beyond, until: now + keptMs })
    beyond.catch(() => this.#counted.delete(name))
    return beyond
  }

  #refusal(dataset: Dataset, { unserved }: ServedQuery, scope?: string): AppError {
    const indexed = indexedColumns(dataset, scope)
    const most = this.#most.toLocaleString("en-US")
    const fields = unserved.map(({ field, column }) => {
      const what = field === "sort" ? `sort by created_at, or filter by ${joinNames(indexed)}` : `filter by ${joinNames(indexed)} as well`
      return {
        path: field,
        message: `the column ${JSON.stringify(column)} is not indexed, and more than ${most} rows of "${dataset.slug}" would have to be scanned; ${what}, so that at most ${most} remain`,
      }
    })
    const message = `${fields[0]?.path}: ${fields[0]?.message}.`
    return new AppError("invalid_argument", message, { reason: "column_not_indexed", indexed_columns: indexed, fields })
  }
}

function joinNames(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`
}
