// The thread that splits texts into words and builds segments of them: it takes seconds for a long text.
import { parentPort } from "node:worker_threads"
import { type BuiltSegment, partsOf, segmentOf } from "./built-segment.ts"
import type { IndexAnswer, IndexTask, ItemToIndex } from "./index-worker.ts"
import { type IndexedItem, Segment } from "./segment.ts"
import { words } from "./tokens.ts"

/** A word of the title counts as so many. */
const titleWeight = 3

function indexed({ title, description, text, ...item }: ItemToIndex): IndexedItem {
  const counts = new Map<string, number>()
  const count = (part: string, weight: number) => {
    for (const word of words(part)) counts.set(word, (counts.get(word) ?? 0) + weight)
  }
  count(title, titleWeight)
  count(description, 1)
  count(text, 1)
  return { ...item, words: counts }
}

/** Items of segments that are kept. An item that was indexed again is in the latest of its segments alone. */
function kept(segments: readonly Segment[], removed: ReadonlySet<string>): IndexedItem[] {
  const items = new Map<string, IndexedItem>()
  for (const segment of segments)
    for (const item of segment.items((id) => !removed.has(id))) if ((items.get(item.id)?.entry ?? -1) < item.entry) items.set(item.id, item)
  return [...items.values()]
}

function built(items: readonly IndexedItem[]): BuiltSegment | undefined {
  return items.length === 0 ? undefined : { count: items.length, parts: partsOf(Segment.make(items)) }
}

/** Segments that came for a merge, by its number. */
const incoming = new Map<number, Segment[]>()

parentPort?.on("message", (task: IndexTask) => {
  const { number } = task
  const answer = (segment: BuiltSegment | undefined) => parentPort?.postMessage({ number, segment } satisfies IndexAnswer)
  if ("fresh" in task) answer(built(task.fresh.map(indexed)))
  else if ("parts" in task) {
    const segment = segmentOf(task.parts.map((part) => Buffer.from(part, "base64")))
    incoming.set(number, [...(incoming.get(number) ?? []), segment])
  } else {
    const segments = incoming.get(number) ?? []
    incoming.delete(number)
    answer(built(kept(segments, new Set(task.removed))))
  }
})
