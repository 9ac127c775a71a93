// A list: an operation that shows a collection of the caller's organization in pages. The declaration has fields, order and
// filters. A list with other needs is a plain operation.
import { z } from "zod"
import type { Deps, TokenRecord } from "../kernel/di.ts"
import type { Caller } from "./caller.ts"
import type { CollectionSpec, Document } from "./collection.ts"
import type { AnyOperation, HandleArgs, Operation } from "./operation.ts"
import { type PageRequest, Pager, pageInput, wholeListInput, wholeListPage } from "./pagination.ts"
import { type Filter, type Sort, Store } from "./store.ts"

const reading = { store: Store, pager: Pager }
const total = z.int().describe("Items in all pages.")

type Input<F extends z.ZodRawShape> = z.ZodObject<F & typeof pageInput, z.core.$strict>
type Output<K extends string, V extends z.ZodType, B extends z.ZodRawShape> = z.ZodObject<
  { [N in K]: z.ZodArray<V> } & B & { next_cursor: z.ZodString }
>

/** The input fields with a value other than their default. Other fields are absent. */
export type Given<F extends z.ZodRawShape> = {
  readonly [N in keyof F]: z.output<F[N]> | (undefined extends z.input<F[N]> ? undefined : never)
}

export interface ListArgs<R extends TokenRecord> {
  readonly organization: string
  readonly caller: Caller
  readonly deps: Deps<R>
}

/** A list: the argument of `defineList`. */
export interface List<
  D extends Document,
  V extends z.ZodType,
  K extends string,
  F extends z.ZodRawShape,
  R extends TokenRecord,
  B extends z.ZodRawShape,
> extends Pick<Operation<Input<F>>, "name" | "summary" | "description" | "access" | "columns" | "examples" | "mcp"> {
  readonly path: string
  readonly collection: CollectionSpec<D, "organization">
  /** Path fields and filters. `limit` and `cursor` are added. */
  readonly input?: F
  readonly inject?: R
  /**
   * Returns conditions on the documents. Default: equality for each input field. A cursor is valid only for the same conditions,
   * so they must not depend on the time.
   */
  where?(given: Given<F>, args: ListArgs<R>): Filter | Promise<Filter>
  /** Set if a filter names an item, and `where` throws `not_found` for it. */
  readonly isOfItem?: true
  /** REST callers receive the whole list, and each page has `total`. A given `limit` makes pages. */
  readonly isWhole?: true
  /** Default: newest first. */
  readonly sort?: Sort | ((given: Given<F>) => Sort)
  /** The output field with the list, and the schema of its items. */
  readonly items: { readonly [N in K]: V }
  view(document: D, args: ListArgs<R>): z.input<V>
  /** Fields of each page outside the list. */
  readonly beside?: {
    readonly fields: B
    read(given: Given<F>, args: ListArgs<R>): Promise<z.input<z.ZodObject<B>>>
  }
}

/** Declares an operation that lists documents of a collection: `GET` of the path, by pages. */
export function defineList<
  D extends Document,
  V extends z.ZodType,
  K extends string,
  F extends z.ZodRawShape = Record<never, never>,
  const R extends TokenRecord = Record<never, never>,
  B extends z.ZodRawShape = Record<never, never>,
>(list: List<D, V, K, F, R, B>): Operation<Input<F>, Output<K, V, B>> {
  const {
    path,
    collection,
    input = {},
    inject,
    where = (given) => given,
    sort = { id: -1 },
    items,
    view,
    beside,
    isOfItem,
    isWhole,
    ...described
  } = list
  const [[field, shown]] = Object.entries(items) as [[K, V]]
  const ungiven = Object.fromEntries(
    Object.entries<z.core.$ZodType>(input).map(([name, schema]) => [name, z.safeParse(schema, undefined).data]),
  )
  const operation: AnyOperation = {
    ...described,
    http: { method: "GET", path },
    hints: { readOnly: true, destructive: false, idempotent: true },
    input: z.strictObject({ ...input, ...(isWhole ? wholeListInput : pageInput) }),
    output: z.object({ [field]: z.array(shown), ...(isWhole && { total }), ...beside?.fields, next_cursor: z.string() }),
    // The item in a path may be missing.
    errors: ["invalid_argument", ...(path.includes("{") || isOfItem ? (["not_found"] as const) : [])],
    inject: { ...inject, ...reading },
    async handle({ input: { limit, cursor, ...asked }, caller, deps }: HandleArgs<Record<string, unknown> & PageRequest, TokenRecord>) {
      const { store, pager } = deps as Deps<typeof reading>
      const organization = caller.organization.id
      const args = { organization, caller, deps: deps as Deps<R> }
      const given = Object.fromEntries(Object.entries(asked).filter(([name, value]) => value !== ungiven[name])) as Given<F>
      const filter = (await where(given, args)) as Filter
      const documents = store.open(collection, organization)
      const page = await pager.page({
        collection: documents,
        organization,
        cursorScope: JSON.stringify([list.name, filter]),
        filter,
        sort: typeof sort === "function" ? sort(given) : sort,
        request: isWhole ? wholeListPage({ limit, cursor }, caller.surface) : { limit, cursor },
      })
      const more = await beside?.read(given, args)
      const counted = isWhole && { total: await documents.count(filter) }
      return { [field]: page.items.map((document) => view(document, args)), ...counted, ...more, next_cursor: page.next_cursor }
    },
  }
  return operation
}
