// The thread that splits texts into words and builds segments of them: it takes seconds for a long text.
import { parentPort } from "node:worker_threads"
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
function kept(segments: readonly Uint8Array[], removed: ReadonlySet<string>): IndexedItem[] {
  const items = new Map<string, IndexedItem>()
  for (const bytes of segments)
    for (const item of Segment.read(bytes).items((id) => !removed.has(id)))
      if ((items.get(item.id)?.entry ?? -1) < item.entry) items.set(item.id, item)
  return [...items.values()]
}

function answer({ number, ...task }: IndexTask): IndexAnswer {
  const items = "fresh" in task ? task.fresh.map(indexed) : kept(task.segments, new Set(task.removed))
  return items.length === 0 ? { number } : { number, segment: new Uint8Array(Segment.make(items).stored()) }
}

parentPort?.on("message", (task: IndexTask) => {
  const made = answer(task)
  parentPort?.postMessage(made, made.segment ? [made.segment.buffer as ArrayBuffer] : [])
})
