// Knowledge: how well it is ranked on a public test collection, and how long the first page of a search takes among 100,000 items.
import { randomUUID } from "node:crypto"
import { Log, Store, timestamp, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { ItemCollection, type StoredItem, VersionCollection, versionId } from "../../../plugins/knowledge/collections.ts"
import { IndexerToken } from "../../../plugins/knowledge/indexing/indexer.ts"
import { randomFrom } from "../../random.ts"
import { type BenchOptions, wanted } from "../options.ts"
import { type Row, rowOf } from "../table.ts"
import { rankCollection } from "./collection.ts"

const names = { ranking: "knowledge/ndcg-at-10", firstPage: "knowledge/first-page" }
const items = 100_000
const wordsEach = 150
const goalMs = 50

export async function* knowledgeRows(options: BenchOptions): AsyncGenerator<Row> {
  if (wanted(options, names.ranking)) {
    const folder = process.env["MILLRACE_TEST_COLLECTION"]
    if (folder === undefined) options.note(`${names.ranking}: left out; MILLRACE_TEST_COLLECTION names no folder in the format of BEIR`)
    else {
      options.note(`${names.ranking}: ${folder}`)
      const { ours, plain, queries, documents } = await rankCollection(folder)
      yield rowOf(names.ranking, "nDCG@10", [ours], "plain BM25", [plain], `${queries} queries, ${documents} documents`)
    }
  }
  if (wanted(options, names.firstPage)) yield await firstPageRow(options)
}

async function firstPageRow({ note, runs = 100 }: BenchOptions): Promise<Row> {
  note(`${names.firstPage}: ${items} items of ${wordsEach} words, ${runs} searches of three words`)
  const host = await testHost()
  try {
    const word = wordsBy(randomFrom(1))
    await fill(host, word)
    await host.get(IndexerToken).run(host.organization.id, host.get(Log))
    const took: number[] = []
    for (let run = -5; run < runs; run++) {
      const began = performance.now()
      await host.api("GET", `/v1/knowledge-search?q=${word()}+${word()}+${word()}&limit=10`)
      if (run >= 0) took.push(performance.now() - began)
    }
    return rowOf(names.firstPage, "ms", took, "goal", [goalMs])
  } finally {
    await host.stop()
  }
}

/** As frequent as words are: the second half as often as the first, and so on (Zipf). */
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
  for (let made = 0; made < items; made += 500) {
    await host.get(UnitsOfWork).run((work) => {
      for (let one = 0; one < 500; one++) {
        const id = randomUUID()
        const text = Array.from({ length: wordsEach }, word).join(" ")
        const item: StoredItem = {
          ...{
            ...ready,
            id,
            title: `${word()} ${word()}`,
            title_given: true,
            description: "",
            category: "",
            version: 1,
            content_version: 1,
          },
          ...{ excerpt: text.slice(0, 2_000), characters: text.length, entry: 0, index_due: true, vector_due: false, revision: 1 },
          ...{ created_at: at, updated_at: at },
        }
        work.in(ItemCollection, host.organization.id).insert(item)
        const version = { ...ready, id: versionId(id, 1), item_id: id, version: 1, bytes: text.length, text, created_at: at }
        work.in(VersionCollection, host.organization.id).insert(version)
      }
    })
  }
  await host.get(Store).ready()
}
