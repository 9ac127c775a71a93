// The position of a subscription: the newest delivered id, the ids that may come again, and the start. Ids are UUIDs in time
// order. A lower id may be committed later, so the service resends from 10 s before the position. After a node dies, another node
// sends its unsent messages half a minute later, and repeats some sent ones. Known messages are dropped. So are messages of a
// node that died before the subscription began.

const overlapMs = 10_000
/** Longer than a node needs to detect a dead node (core/surface/live/outbox.ts). */
const rememberedMs = 60_000
/** More than the service stores of a channel by default. Only stored messages come again. */
const maxRemembered = 5_000

export interface Position {
  /**
   * Returns the position for a resubscription, or undefined for a start at present. Known messages may come again afterwards,
   * however old.
   */
  ask(): string | undefined
  /** Sets the start from the service's answer: an id, then the ids of messages before it. */
  start(ids: readonly string[]): void
  /** Returns true if the message must be delivered: it is new, and not from before the subscription. */
  take(message: { readonly id: string; readonly silent_since?: string }): boolean
  /** Notes that all messages before this id have been sent. */
  pass(id: string): void
  /** Returns the position as text, for a later subscription. Empty before the first message. */
  text(): string
}

/** Restores a position from its text, or from a single id. `now` is in milliseconds from any origin. */
export function newPosition(text = "", now: () => number = () => performance.now()): Position {
  let newest: string | undefined
  /** Ids with the time they were last seen, oldest first. */
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

/** Returns the creation time of a UUIDv7, in milliseconds. */
function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}
