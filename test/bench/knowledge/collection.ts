// Ranking quality of knowledge on a test collection in BEIR's format: corpus.jsonl, queries.jsonl and qrels/test.tsv. Compared
// with the usual BM25: unchanged words, title and text as one.
import { createReadStream } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Segment } from "../../../plugins/data/knowledge/indexing/segment.ts"
import { words } from "../../../plugins/data/knowledge/indexing/tokens.ts"
import { WordQuery } from "../../../plugins/data/knowledge/searching/ranking.ts"
import { maxQueryWords } from "../../../plugins/data/knowledge/searching/search.ts"

interface Text {
  readonly _id: string
  readonly title?: string
  readonly text: string
}

export interface Ranked {
  readonly ours: number
  readonly plain: number
  readonly queries: number
  readonly documents: number
}

const deep = 10
const segmentSize = 4_096
const titleWeight = 3

/** Returns the mean nDCG@10 over the judged queries. */
export async function rankCollection(folder: string): Promise<Ranked> {
  const judged = new Map<string, Map<string, number>>()
  for await (const line of linesOf(join(folder, "qrels/test.tsv"))) {
    const [query = "", document = "", grade = ""] = line.split("\t")
    if (!/^\d+$/.test(grade)) continue
    const grades = judged.get(query) ?? new Map<string, number>()
    judged.set(query, grades.set(document, Number(grade)))
  }
  const ids: string[] = []
  const [ours, plain]: [Segment[], Segment[]] = [[], []]
  let [folded, bare]: [Map<string, number>[], Map<string, number>[]] = [[], []]
  const flush = async () => {
    const first = ids.length - folded.length
    ours.push(segmentOf(folded, first))
    plain.push(segmentOf(bare, first))
    folded = []
    bare = []
  }
  for await (const line of linesOf(join(folder, "corpus.jsonl"))) {
    const { _id, title = "", text } = JSON.parse(line) as Text
    ids.push(_id)
    folded.push(counted(words(text), counted(words(title), new Map(), titleWeight)))
    bare.push(counted(plainWords(`${title} ${text}`)))
    if (folded.length === segmentSize) await flush()
  }
  if (folded.length > 0) await flush()
  const [oursOf, plainOf]: [number[], number[]] = [[], []]
  for await (const line of linesOf(join(folder, "queries.jsonl"))) {
    const { _id, text } = JSON.parse(line) as Text
    const grades = judged.get(_id)
    if (!grades || ![...grades.values()].some((grade) => grade > 0)) continue
    // A document that is the query itself does not count, as in BEIR.
    const gradesOf = (segments: readonly Segment[], queries: readonly string[]) => {
      const hits = new WordQuery(segments, queries).best({ category: "", type: "" })
      const matches = hits.map(({ entry }) => ids[entry] ?? "").filter((id) => id !== _id)
      return matches.slice(0, deep).map((id) => grades.get(id) ?? 0)
    }
    oursOf.push(ndcg(gradesOf(ours, words(text).slice(0, maxQueryWords)), grades))
    plainOf.push(ndcg(gradesOf(plain, plainWords(text)), grades))
  }
  return { ours: mean(oursOf), plain: mean(plainOf), queries: oursOf.length, documents: ids.length }
}

/** Grades of the results in order, and all grades of the query. */
export function ndcg(matches: readonly number[], grades: ReadonlyMap<string, number>): number {
  const gain = (list: readonly number[]) => list.slice(0, deep).reduce((sum, grade, at) => sum + (2 ** grade - 1) / Math.log2(at + 2), 0)
  return gain(matches) / gain([...grades.values()].sort((a, b) => b - a))
}

function segmentOf(counts: readonly Map<string, number>[], first: number): Segment {
  const items = counts.map((of, at) => {
    const id = `${"0".repeat(8)}-0000-4000-8000-${String(first + at).padStart(12, "0")}`
    return { id, entry: first + at, category: "", type: "text", words: of }
  })
  return Segment.make(items)
}

function counted(list: readonly string[], counts = new Map<string, number>(), weight = 1): Map<string, number> {
  for (const word of list) counts.set(word, (counts.get(word) ?? 0) + weight)
  return counts
}

function plainWords(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
}

async function* linesOf(path: string): AsyncGenerator<string> {
  for await (const line of createInterface({ input: createReadStream(path) })) if (line.trim() !== "") yield line
}
