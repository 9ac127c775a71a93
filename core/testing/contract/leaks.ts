// "Started and stopped twice, it leaks no resources": no handle, and no remaining listener on the process or on the action's
// signal.
import { getEventListeners } from "node:events"
import { setTimeout as pause } from "node:timers/promises"
import { isDeepStrictEqual } from "node:util"
import { ContractFixture, violation, whileWatched } from "./fixture.ts"
import { type Subject, stepOf } from "./subject.ts"

/** Counts of active resources and of process listeners, by name. */
type Held = ReadonlyMap<string, number>

/** Maximum time for ending sockets and processes. */
const patienceMs = 10_000
const restMs = 200
const stepMs = 20

function heldNow(): Held {
  const counts = new Map<string, number>()
  const add = (name: string, count = 1) => counts.set(name, (counts.get(name) ?? 0) + count)
  for (const resource of process.getActiveResourcesInfo()) if (resource !== "Immediate") add(resource)
  for (const name of process.eventNames()) add(`listener of process "${String(name)}"`, process.listenerCount(name))
  return counts
}

/** Waits until the counts are stable, because resources end with a delay. */
export async function heldAtRest(): Promise<Held> {
  let held = heldNow()
  for (let calm = 0, tries = 0; calm < restMs / stepMs && tries < patienceMs / stepMs; tries++) {
    await pause(stepMs)
    const now = heldNow()
    calm = isDeepStrictEqual(now, held) ? calm + 1 : 0
    held = now
  }
  return held
}

/** Starts a service with the action, runs an example and stops the service. */
export async function liveOnce(subject: Subject): Promise<void> {
  const fixture = await ContractFixture.open(subject)
  try {
    await useOnce(fixture)
  } finally {
    await fixture.rehearsal.stop()
  }
}

/** Throws if a listener remains on the action's signal after the action has ended. */
export async function useOnce(fixture: ContractFixture): Promise<void> {
  const [example] = fixture.subject.action.examples
  if (!example) violation("The action type has no examples; give it one that runs.")
  const site = await fixture.site()
  const pipeline = await site.make(stepOf(example))
  const left: number[] = []
  await whileWatched(
    fixture.subject.action,
    (run, { context: { signal } }) => {
      const before = getEventListeners(signal, "abort").length
      const result = run()
      const count = () => void left.push(getEventListeners(signal, "abort").length - before)
      if (result instanceof Promise) return result.finally(count)
      count()
      return result
    },
    () => site.send(pipeline),
  )
  if (left.some((count) => count > 0)) violation("It leaves a listener on `context.signal`; a commit action's outlives every event.")
}

/** Waits until no more resources exist than before. */
export async function expectNothingLeft(before: Held): Promise<void> {
  // Counts tries instead of time: while this process is suspended, resources could not end.
  for (let left = patienceMs; ; left -= stepMs) {
    const more = [...heldNow()].filter(([name, count]) => count > (before.get(name) ?? 0))
    if (more.length === 0) return
    if (left <= 0)
      violation(
        `Leaked by a second start and stop: ${more.map(([name, count]) => `${count - (before.get(name) ?? 0)} × ${name}`).join(", ")}.`,
      )
    await pause(stepMs)
  }
}
