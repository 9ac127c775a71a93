// Waits until a change has reached every node. Each node listed at the commit has then confirmed it, left, or let its lease
// expire. Expiry is measured by this node's monotonic clock, from a read after the renewal, so clocks are never compared. An
// expired node is removed, so the next wait is short.
import type { Store } from "../contract/store.ts"
import type { Clock } from "../kernel/clock.ts"
import { AppError } from "../kernel/errors.ts"
import type { Ids } from "../kernel/ids.ts"
import { changes, type NodeDocument, nodes } from "./collections.ts"

/** Maximum ratio between the speeds of two machine clocks. */
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
  /** Resolves when there may be news about the change, or after some time. */
  readonly news: () => Promise<void>
}

export async function settled(changeId: string, options: SettledOptions): Promise<void> {
  const { store, clock, self, news } = options
  let waiting: Map<string, Watched> | undefined
  for (;;) {
    const before = clock.monotonic()
    const there = new Map((await store.open(nodes).find({}, { limit: 1_000 })).map((node) => [node.id, node]))
    // The renewals read were sent before now, even if the read was requested long before.
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

/** Returns false if the node is alive. */
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
