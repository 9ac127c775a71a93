// Merges two counts of one secret's use.
import { defineCollection, timestamp } from "#core"
import { type CountedDocument, earlier, later } from "../merged-document.ts"

/** Use of one secret by its ID. Also used for unwritten counts of a node. */
export interface SecretUse {
  pipeline_id: string
  first_at: string
  last_at: string
  /** Number of verified events. */
  events: number
  /** Counts of the last hour, by minute since the epoch, in order. */
  minutes: { minute: number; events: number }[]
  /** The most recent addresses. */
  addresses: { address: string; last_at: string; events: number }[]
  more_addresses: boolean
  /** A fixed time after the last event. */
  expires_at: string
}

/** Use of a verification secret: counts, times and client addresses, without event content. */
export const SecretUses = defineCollection<SecretUse & CountedDocument>()({
  name: "event_pipeline_secret_uses",
  scope: "organization",
  times: ["expires_at"],
  indexes: [{ fields: ["pipeline_id"] }],
  expires: "expires_at",
  audit: "none",
  statistics: true,
})

export const maxAddresses = 20
const keptMinutes = 60
const keptDays = 90

export function mergeUses(a: SecretUse, b: SecretUse): SecretUse {
  const last_at = later(a.last_at, b.last_at)
  const { addresses, more } = mergeAddresses(a.addresses, b.addresses)
  return {
    pipeline_id: a.pipeline_id,
    first_at: earlier(a.first_at, b.first_at),
    last_at,
    events: a.events + b.events,
    minutes: mergeMinutes(a.minutes, b.minutes),
    addresses,
    more_addresses: a.more_addresses || b.more_addresses || more,
    expires_at: timestamp(Date.parse(last_at) + keptDays * 86_400_000),
  }
}

/** Returns the number of events in the last hour. */
export function eventsOfLastHour({ minutes }: Pick<SecretUse, "minutes">, now: number): number {
  const since = Math.floor(now / 60_000) - keptMinutes
  return minutes.reduce((sum, { minute, events }) => (minute > since ? sum + events : sum), 0)
}

function mergeMinutes(a: SecretUse["minutes"], b: SecretUse["minutes"]): SecretUse["minutes"] {
  const sums = new Map<number, number>()
  for (const { minute, events } of [...a, ...b]) sums.set(minute, (sums.get(minute) ?? 0) + events)
  return [...sums]
    .map(([minute, events]) => ({ minute, events }))
    .sort((one, other) => one.minute - other.minute)
    .slice(-keptMinutes - 1)
}

function mergeAddresses(a: SecretUse["addresses"], b: SecretUse["addresses"]) {
  const known = new Map<string, SecretUse["addresses"][number]>()
  for (const one of [...a, ...b]) {
    const same = known.get(one.address)
    known.set(one.address, same ? { ...one, last_at: later(same.last_at, one.last_at), events: same.events + one.events } : one)
  }
  const ordered = [...known.values()].sort((one, other) => (one.last_at < other.last_at ? 1 : -1))
  return { addresses: ordered.slice(0, maxAddresses), more: ordered.length > maxAddresses }
}
