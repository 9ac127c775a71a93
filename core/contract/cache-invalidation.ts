// Nodes keep things in memory (compiled pipelines, keys, organizations); a change must reach them all. A change is
// named by a topic and a key. Where the effect is promised at once, `settled` waits until every live node has dropped
// what it held, or its lease has run out.
import { token } from "../kernel/di.ts"
import type { CollectionSpec, Document } from "./collection.ts"
import type { UnitOfWork } from "./unit-of-work.ts"

/** The key that stands for all of a topic: a node that may have missed changes drops everything. */
export const allKeys = "*"

/** How the nodes of a service learn of each other's changes, so that what they keep in memory stays true. */
export interface CacheInvalidation {
  /** Calls `drop` for each change of the topic, of this node as well, and with `allKeys` when all of it must go; the change is confirmed when it resolves. */
  onChange(topic: string, drop: (key: string) => Promise<void> | void): void
  /** Stages the announcement with the change itself; with `settled` the work's caller is answered only when every live node has confirmed. */
  announce(work: UnitOfWork, topic: string, key: string, options?: { settled?: boolean }): void
  /** Throws `unavailable` when this node's lease has run out by its own clock and it has not read everything again. */
  assertLease(): void
}

export const CacheInvalidation = token<CacheInvalidation>("CacheInvalidation")

/** Documents inserted or changed in one collection, in the order they were committed. Storage that several nodes share offers it. */
export interface CommitFeed {
  /** From now on: what is committed after this resolves is in the feed. */
  open(collection: CollectionSpec): Promise<CommitFeedReader>
}

export interface CommitFeedReader {
  /** The next event, or undefined when none came for `waitMs`. Throws when the feed is broken; what came meanwhile is then unknown. */
  next(waitMs: number): Promise<{ readonly id: string; readonly inserted?: Document } | undefined>
  close(): Promise<void>
}
