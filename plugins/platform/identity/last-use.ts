// Stores the time of a credential's last use: at most one write a minute for each, apart from the call.
import { allDone, Clock, type Deps, type Document, Log, timestamp, type UnitOfWork, UnitsOfWork } from "#core"

const interval = 60_000
const limit = 10_000

interface Used extends Document {
  readonly created_at: string
  readonly last_used_at: string | null
}

export interface LastUse {
  /** Milliseconds since the epoch: the last use on this node, the stored one, or the creation. */
  last(credential: Used): number
  /** Records a use. `stage` stages the write. A failed write is logged and repeated at the next use. */
  note(credential: Used, stage: (work: UnitOfWork, fields: { last_used_at: string }) => void): void
  /** Resolves after the last write in progress. */
  whenIdle(): Promise<void>
}

export const lastUseNeeds = { works: UnitsOfWork, clock: Clock, log: Log }

export function createLastUse({ works, clock, log }: Deps<typeof lastUseNeeds>): LastUse {
  const writtenAt = new Map<string, number>()
  const used = new Map<string, number>()
  const inFlight = new Set<Promise<void>>()

  async function write(id: string, stage: Parameters<LastUse["note"]>[1]): Promise<void> {
    const last_used_at = timestamp(clock.now())
    try {
      await works.run((work) => stage(work, { last_used_at }))
    } catch (error) {
      writtenAt.delete(id)
      log.warn({ err: error, credential: id }, "the time of a key's last use could not be stored")
    }
  }

  return {
    last: ({ id, last_used_at, created_at }) => Math.max(Date.parse(last_used_at ?? created_at), used.get(id) ?? 0),
    note({ id }, stage) {
      if (used.size >= limit) used.clear()
      used.set(id, clock.now())
      const now = clock.monotonic()
      const last = writtenAt.get(id)
      if (last !== undefined && now - last < interval) return
      if (writtenAt.size >= limit) writtenAt.clear()
      writtenAt.set(id, now)
      const writing = write(id, stage).finally(() => inFlight.delete(writing))
      inFlight.add(writing)
    },
    async whenIdle() {
      await allDone(inFlight)
    },
  }
}
