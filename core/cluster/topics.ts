// In-memory caches of this node by topic, and their invalidation.
import { allKeys, type CacheInvalidation } from "../contract/cluster.ts"
import type { Logger } from "../kernel/log.ts"
import { allDone } from "../kernel/promises.ts"

export type Drop = (key: string) => Promise<void> | void

export class Topics {
  readonly #drops = new Map<string, Drop[]>()

  add(topic: string, drop: Drop): void {
    this.#drops.set(topic, [...(this.#drops.get(topic) ?? []), drop])
  }

  /** Resolves when every cache has dropped the key. Rejects if a cache failed. All drops start before the first await. */
  async drop(topic: string, key: string): Promise<void> {
    await allDone((this.#drops.get(topic) ?? []).map(async (drop) => drop(key)))
  }

  async dropAll(): Promise<void> {
    await allDone([...this.#drops.keys()].map((topic) => this.drop(topic, allKeys)))
  }
}

/** Cache invalidation for storage of a single process: it notifies only itself. */
export function createLocalInvalidation({ log }: { log: Logger }): CacheInvalidation {
  const topics = new Topics()
  return {
    onChange: (topic, drop) => topics.add(topic, drop),
    announce(work, topic, key, options = {}) {
      work.afterCommit(async () => {
        const dropped = topics.drop(topic, key)
        if (options.settled) return dropped
        dropped.catch((error: unknown) => log.error({ err: error, topic, key }, "a cache could not be invalidated"))
      })
    },
    assertLease: () => {},
  }
}
