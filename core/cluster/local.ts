// Cache invalidation where one process owns the storage: it tells itself.
import type { CacheInvalidation } from "../contract/cache-invalidation.ts"
import type { Logger } from "../kernel/log.ts"
import { Topics } from "./topics.ts"

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
