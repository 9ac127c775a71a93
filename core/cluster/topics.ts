// What this node holds in memory, by topic, and how it lets go of it.
import { allKeys, type CacheInvalidation } from "../contract/cluster.ts"
import type { Logger } from "../kernel/log.ts"
import { allDone } from "../kernel/promises.ts"

export type Drop = (key: string) => Promise<void> | void

export class Topics {
  readonly #drops = new Map<string, Drop[]>()

  add(topic: string, drop: Drop): void {
    this.#drops.set(topic, [...(this.#drops.get(topic) ?? []), drop])
  }

  /** Resolves when every holder has let go; rejects when one could not. All are asked at once, before anything is awaited. */
  async drop(topic: string, key: string): Promise<void> {
    await allDone((this.#drops.get(topic) ?? []).map(async (drop) => drop(key)))
  }

  async dropAll(): Promise<void> {
    await allDone([...this.#drops.keys()].map((topic) => this.drop(topic, allKeys)))
  }
}

/** Cache invalidation where one process owns the storage: it tells itself. */
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
