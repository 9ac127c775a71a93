// Nodes keep things in memory (compiled pipelines, keys, organizations); a change must reach them all. A change is
// named by a topic and a key. Where the effect is promised at once, `settled` waits until every live node has dropped
// what it held, or its lease has run out.
import { token } from "../kernel/di.ts"
import type { Work } from "./work.ts"

export interface Coherence {
  /** Calls `drop` for each change of the topic, of this node as well; the change is confirmed when it resolves. */
  onChange(topic: string, drop: (key: string) => Promise<void> | void): void
  /** Stages the announcement with the change itself; with `settled` the work's caller is answered only when every live node has confirmed. */
  announce(work: Work, topic: string, key: string, options?: { settled?: boolean }): void
  /** Throws `unavailable` when this node's lease has run out by its own clock and it has not read everything again. */
  assertLive(): void
}

export const Coherence = token<Coherence>("Coherence")
