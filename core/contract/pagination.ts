// Paging of every list: `limit` and an opaque `cursor` as input, the list and `next_cursor` as output. A cursor is sealed to
// its organization and filters and is invalid elsewhere.
import { z } from "zod"
import { token } from "../kernel/di.ts"
import type { Surface } from "./caller.ts"
import type { Document } from "./collection.ts"
import type { Collection, Filter, Scalar, Sort } from "./store.ts"

/** Input fields of a list. `limit` defaults to 50, is capped at 200, and is refused if negative. */
export const pageInput = {
  limit: z
    .int()
    .min(0)
    .transform((limit) => Math.min(limit || 50, 200))
    .default(50)
    .describe("Page size; at most 200."),
  cursor: z.string().max(2_000).default("").describe("`next_cursor` of the previous page; empty for the first."),
}

/** Maximum number of items in a list without pages. */
const maxWhole = 10_000

/** Input fields of a list that REST callers receive whole. A `limit` makes pages. */
export const wholeListInput = {
  limit: z.int().min(0).optional().describe(`Page size; at most 200. Without it, REST returns up to ${maxWhole} items and MCP returns 50.`),
  cursor: pageInput.cursor,
}

/** Returns the page for a call of a whole list. */
export function wholeListPage(
  { limit, cursor }: { readonly limit?: number | undefined; readonly cursor: string },
  surface: Surface,
): PageRequest {
  if (limit === undefined && surface !== "mcp") return { limit: maxWhole, cursor }
  return { limit: pageInput.limit.parse(limit), cursor }
}

export interface PageRequest {
  readonly limit: number
  readonly cursor: string
}

/** One page of a list. */
export interface Page<D> {
  readonly items: D[]
  /** Empty at the end. */
  readonly next_cursor: string
}

/** Reads a list page by page. A cursor is valid only for its own list. */
export interface Pager {
  /**
   * Reads one page. `cursorScope` identifies the operation and its filters. Throws `invalid_argument` for a cursor of another
   * scope.
   */
  page<D extends Document>(args: {
    collection: Collection<D>
    organization: string
    cursorScope: string
    filter: Filter
    sort?: Sort
    request: PageRequest
  }): Promise<Page<D>>
  /**
   * Returns one page from `read`. `read` returns up to `limit` items in `sort` order, after the sort values of the last item seen
   * (`id` last).
   */
  pageOf<D extends Document>(args: {
    organization: string
    cursorScope: string
    sort?: Sort
    request: PageRequest
    read: (limit: number, after: readonly Scalar[] | undefined) => Promise<D[]>
  }): Promise<Page<D>>
}

export const Pager = token<Pager>("Pager")
