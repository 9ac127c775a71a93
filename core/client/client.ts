// A client for a set of operations: methods by area, iterators for lists, and live updates. Runs in Node and browsers.
import { type CallByName, type ClientOptions, createCaller } from "./caller.ts"
import type { Live, LiveOptions } from "./live-types.ts"
import type { ClientRoute, Fields } from "./route.ts"
import type { Areas, CallOptions, InputOf, OperationMap, OutputOf } from "./shape.ts"

export type Client<M extends OperationMap> = Areas<M> & {
  /** Calls an operation by a name known only at run time. */
  call<Name extends keyof M & string>(name: Name, input: InputOf<M[Name]>, options?: CallOptions): Promise<OutputOf<M[Name]>>
  /** Live updates with the same address and credential. Loads socket.io's client at the first call. */
  live<Channels extends object = Record<string, unknown>>(
    options?: Omit<LiveOptions, "url" | "token" | "organization">,
  ): Promise<Live<Channels>>
}

/** Creates a client for any set of operations from their routes. */
export function createClient<M extends OperationMap>(
  routes: { readonly [Name in keyof M]: ClientRoute },
  options: ClientOptions,
): Client<M> {
  const table = routes as Readonly<Record<string, ClientRoute>>
  const call = createCaller(table, options)
  const areas: Record<string, Record<string, unknown>> = {}
  for (const [name, route] of Object.entries(table)) {
    const [area = "", verb = ""] = name.split(".")
    areas[camel(area)] = { ...areas[camel(area)], [camel(verb)]: methodOf(call, name, route) }
  }
  return { ...areas, call, live: (own?: Partial<LiveOptions>) => liveOf(options, own) } as unknown as Client<M>
}

function methodOf(call: CallByName, name: string, route: ClientRoute): unknown {
  const method = (input?: Fields, options?: CallOptions) => call(name, input, options)
  if (route.list === undefined) return method
  const ask: PageAsker = (input, options) => call(name, input, options) as Promise<Fields>
  return Object.assign(method, pagesOf(ask, { list: route.list, by: route.offset ? "offset" : "cursor" }))
}

async function liveOf({ baseUrl, key, organization }: ClientOptions, own: Partial<LiveOptions> = {}): Promise<unknown> {
  const { connectLive } = await import("./live.ts")
  return connectLive({ ...own, url: baseUrl, token: key, ...(organization ? { organization } : {}) })
}

function camel(text: string): string {
  return text.replaceAll(/_(\w)/g, (_all, letter: string) => letter.toUpperCase())
}

type PageAsker = (input: Fields, options: CallOptions | undefined) => Promise<Fields>

interface Paging {
  /** The field with the list. */
  readonly list: string
  readonly by: "cursor" | "offset"
}

/** Lists page by page. The next page is requested after the last has been consumed. */
export function pagesOf(ask: PageAsker, { list, by }: Paging) {
  async function* pages(input: Fields = {}, options?: CallOptions): AsyncGenerator<Fields, void, undefined> {
    let passed = by === "offset" ? Math.max(0, Number(input["offset"] ?? 0)) : 0
    let page = await ask(input, options)
    for (;;) {
      yield page
      const items = page[list] as readonly unknown[]
      passed += items.length
      const next = by === "offset" ? { offset: passed } : { cursor: page["next_cursor"] }
      const over = by === "offset" ? items.length === 0 || passed >= Number(page["total"]) : page["next_cursor"] === ""
      if (over) return
      page = await ask({ ...input, ...next }, options)
    }
  }
  async function* each(input?: Fields, options?: CallOptions): AsyncGenerator<unknown, void, undefined> {
    for await (const page of pages(input, options)) yield* page[list] as readonly unknown[]
  }
  return { pages, each }
}
