// Searches knowledge items.
import { z } from "zod"
import { defineOperation, giveWay, Pager, pageInput } from "#core"
import { itemTypes, KnowledgeToken } from "../collections.ts"
import { KnowledgeResource } from "../item.ts"
import { highlights } from "../searching/highlight.ts"
import { SearcherToken } from "../searching/search.ts"

const Explanation = z
  .object({
    score: z.number(),
    words: z
      .object({
        rank: z.int(),
        score: z.number().describe("BM25."),
        each: z.array(z.object({ word: z.string(), frequency: z.int(), items: z.int(), score: z.number() })),
      })
      .nullable()
      .describe("By its words; `items` have the word, `frequency` counts the title three times. null: none of them is in it."),
    meaning: z.object({ rank: z.int(), similarity: z.number() }).nullable().describe("By its vector; null without an embedding model."),
  })
  .describe("With `explain`: how the item came to its place. Both ranks are joined by reciprocal rank fusion.")

const FoundItem = z
  .object({
    ...KnowledgeResource.answer.shape,
    score: z.number().describe("Compares within one search."),
    highlights: z
      .array(z.object({ text: z.string(), marks: z.array(z.object({ from: z.int(), to: z.int() })) }))
      .describe("Pieces of the text with the query's words; `marks` say where, in UTF-16 units."),
    explanation: Explanation.optional(),
  })
  .meta({ id: "FoundKnowledgeItem" })

export const searchKnowledge = defineOperation({
  name: "knowledge.search",
  summary: "Search the organization's knowledge, best first.",
  description:
    "By words (BM25; any of them, in any language), joined with meaning where an embedding model is configured. At most 1,000 items are found.",
  http: { method: "GET", path: "/v1/knowledge-search" },
  access: { scope: "knowledge:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  mcp: { listed: true },
  columns: ["title", "category", "score", "id"],
  input: z.strictObject({
    q: z.string().trim().min(1).max(1_000).describe("What is looked for."),
    category: z.string().max(100).default("").describe("Only items of this category."),
    type: z
      .enum(["", ...itemTypes])
      .default("")
      .describe("Only items of this type."),
    explain: z.stringbool().or(z.boolean()).default(false).describe("Say how each item came to its place."),
    ...pageInput,
  }),
  output: z.object({ items: z.array(FoundItem), next_cursor: z.string() }),
  errors: ["invalid_argument"],
  examples: [{ input: { q: "refund within 30 days", limit: 5 } }],
  inject: { searcher: SearcherToken, knowledge: KnowledgeToken, pager: Pager },
  async handle({ input: { q, category, type, explain, limit, cursor }, caller, deps, signal }) {
    const organization = caller.organization.id
    const search = await deps.searcher.search(organization, q, { category, type }, { signal, log: caller.log })
    const page = await deps.pager.page({
      collection: search.found,
      organization,
      cursorScope: JSON.stringify(["knowledge.search", q, category, type]),
      filter: {},
      sort: { score: -1, id: 1 },
      request: { limit, cursor },
    })
    const texts = await deps.knowledge.openings(
      organization,
      page.items.map(({ item }) => item),
    )
    const items = []
    for (const [at, found] of page.items.entries()) {
      await giveWay()
      items.push({
        ...KnowledgeResource.show(found.item),
        score: found.score,
        highlights: highlights(texts[at] ?? "", search.asked).map(({ text, marks }) => ({ text, marks: [...marks] })),
        ...(explain ? { explanation: explanationOf(search.explain(found)) } : {}),
      })
    }
    return { items, next_cursor: page.next_cursor }
  },
})

function explanationOf({ score, words, meaning }: ReturnType<Awaited<ReturnType<SearcherSearch>>["explain"]>): z.input<typeof Explanation> {
  return { score, words: words && { ...words, each: [...words.each] }, meaning }
}

type SearcherSearch = import("../searching/search.ts").Searcher["search"]
