// Waiting until a change is known everywhere: each node that was there when it was committed has confirmed it, left, or
// not renewed its lease for as long as the lease lasts, measured by this node's own monotonic clock from a reading that
// came after the renewal. No two clocks are compared. A node that ran out is struck off, so that the next wait is not long.
import type { Store } from "../contract/store.ts"
import type { Clock } from "../kernel/clock.ts"
import { AppError } from "../kernel/errors.ts"
import type { Ids } from "../kernel/ids.ts"
import { changes, type NodeDocument, nodes } from "./collections.ts"

/** Clocks of two machines run equally fast to within this. */
const drift = 1.05

interface Watched {
  renewals: number
  since: number
}

export interface SettledOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly self: string
  /** Resolves when there may be news of the change, or after some time. */
  readonly news: () => Promise<void>
}

export async function settled(changeId: string, options: SettledOptions): Promise<void> {
  const { store, clock, self, news } = options
  let waiting: Map<string, Watched> | undefined
  for (;;) {
    const before = clock.monotonic()
    const there = new Map((await store.open(nodes).find({}, { limit: 1_000 })).map((node) => [node.id, node]))
    // The renewals in it were sent before now, be it long after the reading was asked for.
    const read = clock.monotonic()
    const confirmed = (await store.open(changes).get(changeId))?.confirmed ?? []
    waiting ??= new Map([...there.values()].filter(({ id }) => id !== self).map(({ id, renewals }) => [id, { renewals, since: read }]))
    for (const [id, watched] of waiting) {
      const node = there.get(id)
      if (!node || confirmed.includes(id)) waiting.delete(id)
      else if (node.renewals !== watched.renewals) waiting.set(id, { renewals: node.renewals, since: read })
      else if (before - watched.since > node.lease_ms * drift && (await strikeOff(node, options))) waiting.delete(id)
    }
    if (waiting.size === 0) return
    await news()
  }
}

/** False when the node turned out to be alive. */
async function strikeOff(node: NodeDocument, { store, ids }: SettledOptions): Promise<boolean> {
  try {
    await store.commit({
      id: ids.uuid(),
      writes: [{ kind: "remove", collection: nodes, id: node.id, where: { renewals: node.renewals } }],
    })
    return true
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return true
    if (error instanceof AppError && error.code === "aborted") return false
    throw error
  }
}
