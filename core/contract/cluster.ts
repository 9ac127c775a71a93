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

/** Decides which node does what only one may do: the one that claims first. By wall clocks, so nodes whose clocks are apart by more than the lease may both hold it for a while. The lease of a process that has ended is free. */
export interface Leases {
  /** True when the name is this node's for that many milliseconds from now; claiming it again extends it. */
  claim(name: string, milliseconds: number): Promise<boolean>
  /** Gives the name back before its time. */
  release(name: string): Promise<void>
}

/** Leases on names, for work that one node of the cluster does. */
export const Leases = token<Leases>("Leases")

/** A clock that was ahead and is right again. */
export interface ClockCorrection {
  /** Wall time, milliseconds since the epoch. */
  readonly now: number
  /** By how much the clock was ahead. */
  readonly aheadMs: number
}

/** Corrects times of one kind and returns how many. It may run again. */
export type Correct = (correction: ClockCorrection) => Promise<number>

/** Collects the corrections of plugins and runs them. */
export interface ClockCorrections {
  /** To be called while services are created. */
  use(kind: string, correct: Correct): void
  /** Returns the earliest time to which the clock was set back from that time or later; undefined if it never was. */
  setBackTo(at: number): Promise<number | undefined>
}

/** Times that a clock set too late, because it was ahead: found and corrected once the clock is right again. */
export const ClockCorrections = token<ClockCorrections>("ClockCorrections")

/** No two clocks that are right differ by more. A time is too late only if it lies further ahead. */
export const maxSkewMs = 60_000
