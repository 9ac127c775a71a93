// Searches an organization's knowledge by words, and by meaning if an embedding model is configured. Results are a collection
// with the usual paging. Outdated index entries are left out.
import { AppError, type Collection, type Document, giveWay, type Logger, type Store, token } from "#core"
import type { Models } from "../../../agents/models/index.ts"
import { unit } from "../indexing/indexer.ts"
import type { Segments } from "../indexing/segments.ts"
import { words } from "../indexing/tokens.ts"
import { ItemCollection, type StoredItem } from "../item.ts"
import { fused, type Hit, nearest, type Selection, WordQuery, type WordScore } from "./ranking.ts"

export interface SearchDeps {
  readonly store: Store
  readonly models: Models
  readonly segments: Segments
}

/** Explains an item's rank. */
export interface Explanation {
  readonly score: number
  /** BM25 result. null if the item contains no query word. */
  readonly words: { readonly rank: number; readonly score: number; readonly each: readonly WordScore[] } | null
  /** Vector result. null without vectors. */
  readonly meaning: { readonly rank: number; readonly similarity: number } | null
}

export interface Found extends Document {
  readonly score: number
  readonly item: StoredItem
}

export interface Search {
  readonly found: Collection<Found>
  /** Words of the query in the index's form. */
  readonly asked: ReadonlySet<string>
  explain(found: Found): Explanation
}

/** Further words are ignored. */
export const maxQueryWords = 64

export const SearcherToken = token<Searcher>("KnowledgeSearcher")

export class Searcher {
  readonly #deps: SearchDeps

  constructor(deps: SearchDeps) {
    this.#deps = deps
  }

  async search(organization: string, q: string, selection: Selection, context: { signal: AbortSignal; log: Logger }): Promise<Search> {
    const { segments: stored } = this.#deps
    const open = await stored.current(organization)
    const segments = [...open.values()]
    const queryWords = words(q).slice(0, maxQueryWords)
    const query = new WordQuery(segments, queryWords)
    const byWords = query.best(selection)
    const vector = segments.some(({ dimensions }) => dimensions > 0) ? await this.#vector(organization, q, context) : undefined
    const byMeaning = vector ? await nearest(segments, vector, selection, giveWay) : []
    const hits = vector ? fused([byWords, byMeaning]) : byWords
    const byKey = new Map(hits.map((hit) => [keyOf(hit), hit]))
    return {
      found: this.#collection(organization, hits),
      asked: new Set(queryWords),
      explain: (item) => {
        const hit = byKey.get(keyOf({ id: item.id, entry: item.item.entry }))
        const [wordRank, meaningRank] = [rankIn(byWords, hit), rankIn(byMeaning, hit)]
        return {
          score: item.score,
          words: hit && wordRank > 0 ? { rank: wordRank, score: byWords[wordRank - 1]?.score ?? 0, each: query.explain(hit) } : null,
          meaning: meaningRank > 0 ? { rank: meaningRank, similarity: byMeaning[meaningRank - 1]?.score ?? 0 } : null,
        }
      },
    }
  }

  /** Returns undefined if the model does not respond. The search then uses only words. */
  async #vector(organization: string, q: string, { signal, log }: { signal: AbortSignal; log: Logger }): Promise<Float32Array | undefined> {
    if (!this.#deps.models.embedding()) return undefined
    try {
      const { value } = await this.#deps.models.embed(organization, [q], { signal })
      return value[0] && unit(value[0])
    } catch (error) {
      if (!(error instanceof AppError) || error.code === "canceled") throw error
      log.warn({ err: error }, "a search went without vectors")
      return undefined
    }
  }

  /** Supports only `find`, in the order of the hits. */
  #collection(organization: string, hits: readonly Hit[]): Collection<Found> {
    const items = this.#deps.store.open(ItemCollection, organization)
    const only = () => Promise.reject(new Error("Search results are paged, and nothing else."))
    const find: Collection<Found>["find"] = async (_filter, { limit = 50, after } = {}) => {
      let at = 0
      if (after) {
        const [score = 0, id = ""] = after
        at = hits.findIndex((hit) => hit.score < Number(score) || (hit.score === Number(score) && hit.id > String(id)))
        if (at < 0) return []
      }
      const results: Found[] = []
      while (results.length < limit && at < hits.length) {
        const part = hits.slice(at, at + limit - results.length)
        at += part.length
        const stored = new Map(
          (await items.find({ id: { $in: part.map(({ id }) => id) } }, { limit: part.length })).map((item) => [item.id, item]),
        )
        for (const { id, entry, score } of part) {
          const item = stored.get(id)
          if (item?.entry === entry) results.push({ id, score, item })
        }
      }
      return results
    }
    return {
      find,
      get: only,
      first: only,
      count: only,
      stream: () => {
        throw new Error("Search results are paged, and nothing else.")
      },
    }
  }
}

function keyOf({ id, entry }: { readonly id: string; readonly entry: number }): string {
  return `${id} ${entry}`
}

/** Returns the rank from 1, or 0 for an absent hit. */
function rankIn(hits: readonly Hit[], hit: Hit | undefined): number {
  return hit ? hits.findIndex((entry) => entry.id === hit.id && entry.entry === hit.entry) + 1 : 0
}
