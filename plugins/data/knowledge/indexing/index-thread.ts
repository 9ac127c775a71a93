// Thread that splits texts into words, builds segments and opens stored segments. Long texts take seconds.
import { parentPort } from "node:worker_threads"
import { packedOf, partsOf } from "./built-segment.ts"
import type { IndexAnswer, IndexTask, ItemToIndex } from "./index-worker.ts"
import { type IndexedItem, type Packed, Segment } from "./segment.ts"
import { words } from "./tokens.ts"

/** Weight of a word in the title. */
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

/** Returns the remaining items. If an item was indexed again, only its latest entry counts. */
function kept(segments: readonly Segment[], removed: ReadonlySet<string>): IndexedItem[] {
  const items = new Map<string, IndexedItem>()
  for (const segment of segments)
    for (const item of segment.items((id) => !removed.has(id))) if ((items.get(item.id)?.entry ?? -1) < item.entry) items.set(item.id, item)
  return [...items.values()]
}

/** A segment under construction. */
class Draft {
  readonly items: IndexedItem[] = []
  readonly #segments: Segment[] = []
  #incoming: Buffer[] = []
  parts: readonly string[] = []

  take(part: string): void {
    this.#incoming.push(Buffer.from(part, "base64"))
  }

  opened(): Packed {
    const packed = packedOf(this.#incoming)
    this.#incoming = []
    return packed
  }

  endSegment(): void {
    this.#segments.push(new Segment(this.opened()))
  }

  build(removed: ReadonlySet<string>): { count: number; parts: number } | undefined {
    const items = [...kept(this.#segments.splice(0), removed), ...this.items.splice(0)]
    this.parts = items.length === 0 ? [] : partsOf(Segment.make(items))
    return items.length === 0 ? undefined : { count: items.length, parts: this.parts.length }
  }
}

const drafts = new Map<number, Draft>()

function done(draft: Draft, task: IndexTask): IndexAnswer["value"] {
  if ("item" in task) draft.items.push(indexed(task.item))
  else if ("part" in task) draft.take(task.part)
  else if ("endsSegment" in task) draft.endSegment()
  else if ("removed" in task) return draft.build(new Set(task.removed))
  else if ("read" in task) return draft.parts[task.read]
  else if ("opens" in task) return draft.opened()
  else drafts.delete(task.draft)
  return undefined
}

/** Buffers transferred to the main thread without a copy. Small buffers may belong to Node's pool, which cannot be transferred. */
function buffersOf(value: IndexAnswer["value"]): ArrayBuffer[] {
  if (typeof value !== "object" || !("words" in value)) return []
  const buffers = Object.values(value).flatMap((entry) => (ArrayBuffer.isView(entry) ? [entry.buffer as ArrayBuffer] : []))
  return [...new Set(buffers)].filter(({ byteLength }) => byteLength > Buffer.poolSize)
}

parentPort?.on("message", (task: IndexTask) => {
  const draft = drafts.get(task.draft) ?? new Draft()
  drafts.set(task.draft, draft)
  const value = done(draft, task)
  parentPort?.postMessage({ id: task.id, value } satisfies IndexAnswer, buffersOf(value))
})
