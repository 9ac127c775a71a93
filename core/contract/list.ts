// A list: an operation that shows a collection of the caller's organization page by page. It is declared by what it
// shows, in which order, and which of it an input asks for; a list that needs more is an operation like any other.
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

/** What a call gives of the input: a field that has the value it would have without being given is absent. */
export type Given<F extends z.ZodRawShape> = {
  readonly [N in keyof F]: z.output<F[N]> | (undefined extends z.input<F[N]> ? undefined : never)
}

export interface ListArgs<R extends TokenRecord> {
  readonly organization: string
  readonly caller: Caller
  readonly deps: Deps<R>
}

/** A list, as `defineList` takes it. */
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
  /** Fields of the path, and filters; `limit` and `cursor` come by themselves. */
  readonly input?: F
  readonly inject?: R
  /** Conditions on the documents; a cursor is good for the same ones alone, so nothing such as the time may be among them. Without it each field that is given is one. */
  where?(given: Given<F>, args: ListArgs<R>): Filter | Promise<Filter>
  /** Set if a filter names an item, and `where` throws `not_found` for it. */
  readonly isOfItem?: true
  /** REST callers receive the whole list, and each page has `total`. A given `limit` makes pages. */
  readonly isWhole?: true
  /** Newest first unless given. */
  readonly sort?: Sort | ((given: Given<F>) => Sort)
  /** The output's field that holds the list, with what is shown of each document. */
  readonly items: { readonly [N in K]: V }
  view(document: D, args: ListArgs<R>): z.input<V>
  /** Fields of each page beside the list. */
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
    // What a path names may not be there.
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
