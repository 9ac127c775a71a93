// "Its deadline is obeyed": a call stays unanswered, the step times out, and the action ends after its abort signal.
import { setTimeout as pause } from "node:timers/promises"
import type { ActionExample } from "../../contract/action.ts"
import { type ContractFixture, violation, whileWatched } from "./fixture.ts"
import { stepOf } from "./subject.ts"

const deadlineMs = 300
/** Maximum time for an aborted action to end on a busy machine. */
const graceMs = 10_000
const stepMs = 20

export async function obeysDeadline(fixture: ContractFixture, example: ActionExample): Promise<void> {
  const { action } = fixture.subject
  const { outgoing } = fixture.rehearsal
  const site = await fixture.site()
  const pipeline = await site.make({ ...stepOf(example), timeout_ms: deadlineMs, retry: { max_attempts: 1 } })
  const ended: Promise<unknown>[] = []
  const note = (run: () => unknown) => {
    const result = run()
    ended.push(Promise.resolve(result).catch(() => undefined))
    return result
  }
  outgoing.fixtures.unshift(() => new Promise(() => {}))
  outgoing.onMail = () => new Promise(() => {})
  try {
    await within(
      deadlineMs + graceMs,
      whileWatched(action, note, () => site.send(pipeline)),
      "does not let its event end",
    )
  } finally {
    fixture.answerCalls()
  }
  await within(graceMs, Promise.all(ended), "continues after its deadline; pass `context.signal` to everything that it awaits")
}

async function within(milliseconds: number, work: Promise<unknown>, otherwise: string): Promise<void> {
  const stop = new AbortController()
  const late = passed(milliseconds, stop.signal).catch(() => "stopped")
  try {
    if ((await Promise.race([work, late])) === "late") violation(`The action ${otherwise}.`)
  } finally {
    stop.abort()
  }
}

/** Waits in steps. While the machine or this process is suspended, the action could not end. */
async function passed(milliseconds: number, signal: AbortSignal): Promise<"late"> {
  for (let left = milliseconds; left > 0; left -= stepMs) await pause(stepMs, undefined, { signal })
  return "late"
}
