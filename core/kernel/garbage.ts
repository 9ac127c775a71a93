// When V8 collects garbage, which it decides for throughput and a small heap; a service is asked for short pauses, and to
// give back at rest what its start took.
import { Session } from "node:inspector"
import { setFlagsFromString } from "node:v8"

/**
 * Lets the old generation of each thread grow to twice of what a collection left, before the next one. Since a collection
 * is cheap for a heap of 70 MB, V8 would have one for each 10 MB, and each holds up events for some 60 ms on two cores.
 */
export function collectSeldom(): void {
  setFlagsFromString("--heap-growing-percent=100")
}

/**
 * Has all garbage of this thread's heap collected soon, at once; some 150 ms. The start of a service leaves 90 MB of young
 * generation that nothing needs, and V8 gives memory back when it is idle only once a whole collection has shown it how
 * much is in use, to which a service at rest would not come.
 */
export function collectAll(): void {
  const session = new Session()
  session.connect()
  // Not within the callback, where the session's end would wait for a lock that is held for the callback.
  session.post("HeapProfiler.collectGarbage", () => setImmediate(() => session.disconnect()))
}
