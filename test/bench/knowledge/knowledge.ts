// Knowledge: ranking quality on a public test collection, and the time of a search page among 100,000 items on each store, for
// short and long texts.
import { randomUUID } from "node:crypto"
import { Log, timestamp, UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import { VersionCollection, versionId } from "../../../plugins/data/knowledge/collections.ts"
import { IndexerToken } from "../../../plugins/data/knowledge/indexing/indexer.ts"
import { ItemCollection, type StoredItem } from "../../../plugins/data/knowledge/item.ts"
import { randomFrom } from "../../random.ts"
import { type BenchOptions, isSelected } from "../options.ts"
import { filledRows } from "../service/filled.ts"
import { type Row, rowOf } from "../table.ts"
import { rankCollection } from "./collection.ts"

const ranking = "knowledge/ndcg-at-10"
const items = 100_000
const wordsEach = 150
/** Words of long texts, each found by a unique word: about 20,000 characters, and half a million. */
const long = { long: 4_000, huge: 100_000 }
const longEach = 60

export async function* knowledgeRows(options: BenchOptions): AsyncGenerator<Row> {
  if (isSelected(options, ranking)) {
    const folder = process.env["MILLRACE_TEST_COLLECTION"]
    if (folder === undefined) options.note(`${ranking}: left out; MILLRACE_TEST_COLLECTION names no folder in the format of BEIR`)
    else {
      options.note(`${ranking}: ${folder}`)
      const { ours, plain, queries, documents } = await rankCollection(folder)
      yield rowOf(ranking, "nDCG@10", [ours], "plain BM25", [plain], `${queries} queries, ${documents} documents`)
    }
  }
  const word = wordsBy(randomFrom(1))
  const three = () => `${word()}+${word()}+${word()}`
  yield* filledRows(options, {
    area: "knowledge",
    allowedMs: 50,
    async fill(host, store) {
      options.note(`knowledge/${store}: ${items} items of ${wordsEach} words`)
      await fill(host, word)
      options.note(`knowledge/${store}: their index`)
      await host.get(IndexerToken).run(host.organization.id, host.get(Log))
    },
    buildQueries: async (get) => ({
      "first-10": () => get(`/v1/knowledge-search?q=${three()}&limit=10`),
      "first-50": () => get(`/v1/knowledge-search?q=${three()}&limit=50`),
      "first-50-long": () => get(`/v1/knowledge-search?q=long+${three()}&limit=50`),
      "first-50-huge": () => get(`/v1/knowledge-search?q=huge+${three()}&limit=50`),
    }),
  })
}

/** Words with natural frequency: the second is half as frequent as the first, and so on (Zipf). */
function wordsBy(random: () => number): () => string {
  const ends: number[] = []
  let sum = 0
  for (let rank = 0; rank < 50_000; rank++) {
    sum += 1 / (rank + 2)
    ends.push(sum)
  }
  return () => {
    const drawn = random() * sum
    let [low, high] = [0, ends.length - 1]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((ends[middle] ?? 0) < drawn) low = middle + 1
      else high = middle
    }
    return `w${low.toString(36)}`
  }
}

async function fill(host: TestHost, word: () => string): Promise<void> {
  const at = timestamp(Date.now())
  const none = { content_reason: "", content_message: "", source_url: "" }
  const ready = { type: "text", content_state: "ready", ...none } as const
  const of = { description: "", category: "", version: 1, content_version: 1, title_given: true, revision: 1 } as const
  const due = { entry: 0, index_due: true, vector_due: false, created_at: at, updated_at: at } as const
  const insert = (count: number, createText: () => string) =>
    host.get(UnitsOfWork).run((work) => {
      for (let index = 0; index < count; index++) {
        const id = randomUUID()
        const text = createText()
        const entry = { id, title: `${word()} ${word()}`, excerpt: text.slice(0, 2_000), characters: text.length }
        const item: StoredItem = { ...ready, ...of, ...due, ...entry }
        work.in(ItemCollection, host.organization.id).insert(item)
        const version = { ...ready, id: versionId(id, 1), item_id: id, version: 1, bytes: text.length, text, created_at: at }
        work.in(VersionCollection, host.organization.id).insert(version)
      }
    })
  const textOf = (words: number) => Array.from({ length: words }, word).join(" ")
  for (let count = 0; count < items; count += 500) await insert(500, () => textOf(wordsEach))
  for (const [name, words] of Object.entries(long))
    for (let count = 0; count < longEach; count += 5) await insert(5, () => `${name} ${`${name} `.repeat(words / 20)}${textOf(words)}`)
}
