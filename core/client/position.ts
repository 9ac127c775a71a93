// Where a subscription stands: the newest id handed out, the ids that may come again, and when it began. Ids are UUIDs in
// time order, but a lower one may be committed later; so the service starts 10 s before the id it is given. And what a
// node that died may not have emitted another emits, half a minute later, along with some that it did emit. What is known
// is dropped; so is what a node left behind that was dead before the subscription began.

const overlapMs = 10_000
/** Longer than a node takes to know that another one is dead (core/surface/live/outbox.ts). */
const rememberedMs = 60_000
/** Beyond what the service keeps of a channel, unless it is told to keep more; nothing else comes again. */
const maxRemembered = 5_000

export interface Position {
  /** What to ask for messages after; undefined: from now on. What is known may come again now, however long ago it came. */
  ask(): string | undefined
  /** Where the subscription began, as the service says it: an id, then those of messages from before it. */
  start(ids: readonly string[]): void
  /** Whether the message is to be handed out: not before, and not from before the subscription. */
  take(message: { readonly id: string; readonly silent_since?: string }): boolean
  /** The service says that all before this id was sent. */
  pass(id: string): void
  /** To go on from elsewhere; empty where nothing is known yet. */
  text(): string
}

/** From the text of an earlier one, or a single id. `now` in milliseconds, of any beginning. */
export function newPosition(text = "", now: () => number = () => performance.now()): Position {
  let newest: string | undefined
  /** Ids and when each was met last, the longest ago first. */
  const seen = new Map<string, number>()
  const [ids = "", begun = ""] = text.toLowerCase().split("<")
  let beginning = begun
  const add = (id: string) => {
    seen.set(id, now())
    if (newest === undefined || id > newest) newest = id
  }
  const addAll = (all: Iterable<string>) => {
    for (const id of all) add(id)
  }
  addAll(ids.split(",").filter(Boolean))

  const forgetOld = (madeBefore: number) => {
    const metBefore = now() - rememberedMs
    for (const [id, met] of seen) {
      if (seen.size <= maxRemembered && (met >= metBefore || timeOf(id) >= madeBefore)) break
      seen.delete(id)
    }
  }
  return {
    ask() {
      addAll([...seen.keys()])
      return newest
    },
    start(all) {
      beginning ||= all[0] ?? ""
      addAll(all)
    },
    take({ id, silent_since: silentSince }) {
      if (seen.has(id) || (silentSince !== undefined && Date.parse(silentSince) < timeOf(beginning))) return false
      add(id)
      forgetOld(timeOf(newest ?? id) - overlapMs)
      return true
    },
    pass(id) {
      add(id)
      forgetOld(timeOf(id) - overlapMs)
    },
    text: () => [...seen.keys()].join(",") + (beginning && `<${beginning}`),
  }
}

/** The millisecond that a UUIDv7 was made in. */
function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}
