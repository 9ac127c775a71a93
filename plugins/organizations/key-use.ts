// When a key was last used, without a write a call: each key is written at most once a minute, apart from the call that
// used it. A write that fails is logged and retried at the next use.
import { allDone, type Clock, type Logger, timestamp, type UnitsOfWork } from "#core"
import { KeysCollection, type StoredKey } from "./collections.ts"

const interval = 60_000
const limit = 10_000

export interface KeyUse {
  /** Milliseconds since the epoch: its last use here, or the one that was stored, or its making. */
  last(key: StoredKey): number
  note(organization: string, key: StoredKey): void
  /** Resolves when nothing is being written. */
  settled(): Promise<void>
}

interface KeyUseDeps {
  readonly works: UnitsOfWork
  readonly clock: Clock
  readonly log: Logger
}

export function createKeyUse({ works, clock, log }: KeyUseDeps): KeyUse {
  const written = new Map<string, number>()
  const used = new Map<string, number>()
  const inFlight = new Set<Promise<void>>()

  async function write(organization: string, id: string): Promise<void> {
    const last_used_at = timestamp(clock.now())
    try {
      await works.run((work) => work.in(KeysCollection, organization).update(id, { $set: { last_used_at } }, { optional: true }))
    } catch (error) {
      written.delete(id)
      log.warn({ err: error, credential: id }, "the time of a key's last use could not be stored")
    }
  }

  return {
    last: ({ id, last_used_at, created_at }) => Math.max(Date.parse(last_used_at ?? created_at), used.get(id) ?? 0),
    note(organization, key) {
      if (key.kind === "session") {
        if (used.size >= limit) used.clear()
        used.set(key.id, clock.now())
      }
      const now = clock.monotonic()
      const last = written.get(key.id)
      if (last !== undefined && now - last < interval) return
      if (written.size >= limit) written.clear()
      written.set(key.id, now)
      const writing = write(organization, key.id).finally(() => inFlight.delete(writing))
      inFlight.add(writing)
    },
    async settled() {
      await allDone(inFlight)
    },
  }
}
