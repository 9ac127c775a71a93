// Where a subscription stands: the newest id handed out, and the ids of the 10 s before it. Ids are UUIDs in time order,
// but a lower one may be committed later; so the service starts 10 s before the id it is given, and what is known from
// there is dropped.

const overlapMs = 10_000

export interface Position {
  /** What to ask for messages after; undefined: from now on. */
  newest(): string | undefined
  /** Where the subscription began, as the service says it: an id, then those of messages from before it. */
  start(ids: readonly string[]): void
  /** Whether the message has not been handed out before. */
  take(id: string): boolean
  /** To go on from elsewhere; empty where nothing is known yet. */
  text(): string
}

/** From the text of an earlier one, or a single id. */
export function newPosition(text = ""): Position {
  let newest: string | undefined
  /** In the order of coming, oldest first. */
  const seen = new Set<string>()
  const add = (id: string) => {
    seen.add(id)
    if (newest === undefined || id > newest) newest = id
  }
  const start = (ids: readonly string[]) => {
    for (const id of ids) add(id)
  }
  start(text.toLowerCase().split(",").filter(Boolean))

  return {
    newest: () => newest,
    start,
    take(id) {
      if (seen.has(id)) return false
      add(id)
      const since = timeOf(newest ?? id) - overlapMs
      for (const old of seen) {
        if (timeOf(old) >= since) break
        seen.delete(old)
      }
      return true
    },
    text: () => [...seen].join(","),
  }
}

/** The millisecond that a UUIDv7 was made in. */
function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}
