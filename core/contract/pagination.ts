// Paging, the same on every list: `limit` and an opaque `cursor` in, the list and `next_cursor` out. A cursor is sealed
// to its organization and filters, so it opens nothing elsewhere.
import { z } from "zod"
import { token } from "../kernel/di.ts"
import type { Surface } from "./caller.ts"
import type { Document } from "./collection.ts"
import type { Collection, Filter, Scalar, Sort } from "./store.ts"

/** Input fields of a list: `limit` defaults to 50, is taken as 200 at most, and is refused when negative. */
export const pageInput = {
  limit: z
    .int()
    .min(0)
    .transform((limit) => Math.min(limit || 50, 200))
    .default(50)
    .describe("Page size; at most 200."),
  cursor: z.string().max(2_000).default("").describe("`next_cursor` of the previous page; empty for the first."),
}

/** Most items of a list that returns everything at once. */
const maxWhole = 10_000

/** Input fields of a list that REST callers receive whole. A given `limit` makes pages. */
export const wholeListInput = {
  limit: z.int().min(0).optional().describe(`Page size; at most 200. Without it, REST returns up to ${maxWhole} items and MCP returns 50.`),
  cursor: pageInput.cursor,
}

/** The page that a call of such a list reads. */
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

/** Reads a list page by page, with cursors that are of no use for another list. */
export interface Pager {
  /** One page. `cursorScope` names what the cursor is good for (operation and filters); throws `invalid_argument` for a cursor made for something else. */
  page<D extends Document>(args: {
    collection: Collection<D>
    organization: string
    cursorScope: string
    filter: Filter
    sort?: Sort
    request: PageRequest
  }): Promise<Page<D>>
  /** One page of what `read` returns: as many as it is told, in that order, which come after the sort values of the last one seen (`id` last). */
  pageOf<D extends Document>(args: {
    organization: string
    cursorScope: string
    sort?: Sort
    request: PageRequest
    read: (limit: number, after: readonly Scalar[] | undefined) => Promise<D[]>
  }): Promise<Page<D>>
}

export const Pager = token<Pager>("Pager")
