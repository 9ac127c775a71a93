// Finds tools by words: a word counts most in the name, less in the summary, least in the description.
import type { OperationTool } from "./tools.ts"

const weights = [4, 2, 1] as const
/** More words than these in a query do not count. */
const maxWords = 20

/** Tools with at least one word of the query, best first. */
export function searchTools(tools: readonly OperationTool[], query: string): OperationTool[] {
  const words = [...new Set(wordsOf(query))].slice(0, maxWords)
  const scored = tools.map((tool) => ({ tool, score: scoreOf(tool, words) })).filter(({ score }) => score > 0)
  return scored.sort((left, right) => right.score - left.score).map(({ tool }) => tool)
}

function scoreOf({ operation }: OperationTool, words: readonly string[]): number {
  const texts = [operation.name, operation.summary, operation.description ?? ""].map(wordsOf)
  const scores = words.map((word) => {
    const at = texts.findIndex((text) => text.includes(word))
    return at < 0 ? 0 : (weights[at] ?? 0)
  })
  return scores.reduce((sum: number, score) => sum + score, 0)
}

/** Words in lower case, plural forms as singular. */
function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map((word) =>
    word.length > 3 ? word.replace(/ies$/, "y").replace(/s$/, "") : word,
  )
}
