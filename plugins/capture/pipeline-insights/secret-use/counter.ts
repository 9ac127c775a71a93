// Counts the events verified by each secret in memory, and writes the counts every few seconds. Each event costs a few additions.
// A crash loses the unwritten counts.
import { isIP } from "node:net"
import { Clock, type Deps, Log, Store, timestamp, UnitsOfWork } from "#core"
import { networkOf, type SettledEvent, SettledEvents } from "#core/engine"
import { ClientAddresses, type SecretUseSource, type ShownAddresses } from "../../pipelines/index.ts"
import { mayPassLater, mergeDocument } from "../merged-document.ts"
import { eventsOfLastHour, maxAddresses, mergeUses, type SecretUse, SecretUses } from "./merge.ts"

/** Counts of other nodes lag by this time. */
const writtenEveryMs = 5_000
/**
 * Bounds per secret between two writes. After `addressesLookedAt` events, only one event in `addressEvery` has its address
 * recorded.
 */
const addressesLookedAt = 64
const addressEvery = 32
/** Bound on secrets with unwritten counts. The bound starts an early write. */
const maxPending = 5_000

interface Pending {
  readonly organization: string
  readonly pipelineId: string
  readonly first: number
  last: number
  events: number
  readonly minutes: Map<number, number>
  readonly addresses: Map<string, { last: number; events: number }>
  more: boolean
}

export class SecretUseCounter {
  static readonly inject = {
    store: Store,
    works: UnitsOfWork,
    clock: Clock,
    log: Log,
    settled: SettledEvents,
    addresses: ClientAddresses,
  }
  readonly #deps: Deps<typeof SecretUseCounter.inject>
  #pending = new Map<string, Pending>()
  /** Counts whose write failed. */
  readonly #owed = new Map<string, { organization: string; use: SecretUse }>()
  #cancel: (() => void) | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(deps: Deps<typeof SecretUseCounter.inject>) {
    this.#deps = deps
  }

  observe({ entry, stored, addressOf }: SettledEvent): void {
    const secret = entry.verdict.secret_id
    if (secret === null || !entry.verdict.ok) return
    const now = this.#deps.clock.now()
    let pending = this.#pending.get(secret)
    if (!pending) {
      pending = {
        organization: stored.organization.id,
        pipelineId: stored.id,
        first: now,
        last: now,
        events: 0,
        minutes: new Map(),
        addresses: new Map(),
        more: false,
      }
      this.#pending.set(secret, pending)
      this.#writeLater(this.#pending.size > maxPending ? 0 : writtenEveryMs)
    }
    pending.last = now
    pending.events++
    const minute = Math.floor(now / 60_000)
    pending.minutes.set(minute, (pending.minutes.get(minute) ?? 0) + 1)
    if (addressOf && (pending.events <= addressesLookedAt || pending.events % addressEvery === 0))
      noteAddress(pending, shownAddress(addressOf(), this.#deps.addresses), now)
  }

  /** Writes this node's counts. */
  flush(): Promise<void> {
    this.#deps.settled.flush()
    const flushed = this.#writing.then(() => this.#write())
    this.#writing = flushed.catch(() => undefined)
    return flushed
  }

  async stop(): Promise<void> {
    this.#cancel?.()
    await this.flush()
  }

  #writeLater(milliseconds: number): void {
    if (milliseconds === 0) {
      this.#cancel?.()
      this.#cancel = undefined
    }
    this.#cancel ??= this.#deps.clock.after(milliseconds, () => {
      this.#cancel = undefined
      this.flush().catch((error: unknown) => {
        this.#deps.log.warn({ err: error }, "counts of the use of secrets could not be written; retrying")
        this.#writeLater(writtenEveryMs)
      })
    })
  }

  async #write(): Promise<void> {
    const pending = this.#pending
    this.#pending = new Map()
    for (const [id, one] of pending) {
      const owed = this.#owed.get(id)
      const use = useOf(one)
      this.#owed.set(id, { organization: one.organization, use: owed ? mergeUses(owed.use, use) : use })
    }
    for (const [id, { organization, use }] of this.#owed) {
      try {
        await mergeDocument(this.#deps, SecretUses, { organization, id }, (stored) => (stored ? mergeUses(stored, use) : use))
      } catch (error) {
        if (mayPassLater(error)) throw error
        this.#deps.log.error({ err: error, organization }, "counts of the use of a secret were refused and are dropped")
      }
      this.#owed.delete(id)
    }
  }
}

function noteAddress(pending: Pending, address: string, now: number): void {
  if (address === "") return
  const known = pending.addresses.get(address)
  if (known) {
    known.last = now
    known.events++
  } else if (pending.addresses.size < maxAddresses) pending.addresses.set(address, { last: now, events: 1 })
  else pending.more = true
}

function useOf({ pipelineId, first, last, events, minutes, addresses, more }: Pending): SecretUse {
  const use: SecretUse = {
    pipeline_id: pipelineId,
    first_at: timestamp(first),
    last_at: timestamp(last),
    events,
    minutes: [...minutes].map(([minute, count]) => ({ minute, events: count })),
    addresses: [...addresses].map(([address, one]) => ({ address, last_at: timestamp(one.last), events: one.events })),
    more_addresses: more,
    expires_at: "",
  }
  return mergeUses(use, { ...use, events: 0, minutes: [], addresses: [] })
}

/** Returns the address in the form allowed by the settings, or "". */
export function shownAddress(address: string, shown: ShownAddresses): string {
  if (shown === "none" || isIP(address) === 0) return ""
  if (shown === "full") return address
  return isIP(address) === 4 ? `${address.slice(0, address.lastIndexOf("."))}.0/24` : networkOf(address)
}

export const secretUsesNeeds = { store: Store, clock: Clock, counter: SecretUseCounter }

/** Reads the use of secrets over all nodes. */
export function secretUses({ store, clock, counter }: Deps<typeof secretUsesNeeds>): SecretUseSource {
  return async (organization, pipelineId) => {
    await counter.flush()
    const uses = await store.open(SecretUses, organization).find({ pipeline_id: pipelineId }, { limit: 1_000 })
    return new Map(uses.map((use) => [use.id, { ...use, verified_last_hour: eventsOfLastHour(use, clock.now()) }]))
  }
}
