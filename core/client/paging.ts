// Lists page by page: the next one is asked for only when the last has been taken.
import type { Fields } from "./route.ts"
import type { CallOptions } from "./shape.ts"

export type PageAsker = (input: Fields, options: CallOptions | undefined) => Promise<Fields>

export interface Paging {
  /** The field that holds the list. */
  readonly list: string
  readonly by: "cursor" | "offset"
}

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
