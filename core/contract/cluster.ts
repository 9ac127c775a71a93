// Cache invalidation between nodes. Nodes cache compiled pipelines, keys and organizations, and each change must reach all nodes.
// A topic and a key identify a change. With `settled`, the caller waits until every live node has dropped its cached value or
// lost its lease.
import { token } from "../kernel/di.ts"
import type { CollectionSpec, Document } from "./collection.ts"
import type { UnitOfWork } from "./unit-of-work.ts"

/** The key for a whole topic. A node that may have missed changes drops everything. */
export const allKeys = "*"

/** Sends changes to all nodes of a service, so their caches stay correct. */
export interface CacheInvalidation {
  /**
   * Calls `drop` for each change of the topic, including changes of this node. `allKeys` drops everything. The change is
   * confirmed when `drop` resolves.
   */
  onChange(topic: string, drop: (key: string) => Promise<void> | void): void
  /** Stages the announcement together with the change. With `settled`, the caller is answered after every live node has confirmed. */
  announce(work: UnitOfWork, topic: string, key: string, options?: { settled?: boolean }): void
  /** Throws `unavailable` if this node's lease has expired by its own clock and its caches are not refreshed yet. */
  assertLease(): void
}

export const CacheInvalidation = token<CacheInvalidation>("CacheInvalidation")

/** Inserted or changed documents of one collection, in commit order. Shared storage offers this feed. */
export interface CommitFeed {
  /** Opens the feed. It contains every commit made after this promise resolves. */
  open(collection: CollectionSpec): Promise<CommitFeedReader>
}

export interface CommitFeedReader {
  /** Returns the next event, or undefined after `waitMs` without an event. Throws if the feed is broken; events may then be missing. */
  next(waitMs: number): Promise<{ readonly id: string; readonly inserted?: Document } | undefined>
  close(): Promise<void>
}

/**
 * Assigns exclusive work to the first node that claims a name. Leases depend on wall clocks: if clocks differ by more than the
 * lease, two nodes may hold it for a while. The lease of an ended process is free.
 */
export interface Leases {
  /** Returns true if this node holds the name for the next `milliseconds`. Another claim extends the lease. */
  claim(name: string, milliseconds: number): Promise<boolean>
  /** Releases the name early. */
  release(name: string): Promise<void>
}

/** Leases on names, for work of a single node in the cluster. */
export const Leases = token<Leases>("Leases")

/** The correction of a clock that was ahead. */
export interface ClockCorrection {
  /** Wall time, milliseconds since the epoch. */
  readonly now: number
  /** The clock's lead before the correction. */
  readonly aheadMs: number
}

/** Corrects times of one kind and returns their number. It may run again. */
export type Correct = (correction: ClockCorrection) => Promise<number>

/** Collects the corrections of plugins and runs them. */
export interface ClockCorrections {
  /** Call this while services are created. */
  use(kind: string, correct: Correct): void
  /** Returns the earliest time to which the clock was set back from `at` or later. Undefined if the clock was never set back. */
  setBackTo(at: number): Promise<number | undefined>
}

/** Corrects times set too late by a clock that was ahead. The correction runs once the clock is right again. */
export const ClockCorrections = token<ClockCorrections>("ClockCorrections")

/** Maximum difference between two correct clocks. A time is too late only if it lies further ahead. */
export const maxSkewMs = 60_000
