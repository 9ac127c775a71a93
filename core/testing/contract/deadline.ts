// "Its deadline is obeyed": nobody answers, the step's time runs out, and the action ends when its signal says so.
import { setTimeout as pause } from "node:timers/promises"
import type { ActionExample } from "../../contract/action.ts"
import { type ContractFixture, violation, whileWatched } from "./fixture.ts"
import { stepOf } from "./subject.ts"

const deadlineMs = 300
/** What an action that is told to stop may take to do so, on a machine that is busy. */
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

/** In steps: while the machine stands still, or this process has no turn, nothing could have ended. */
async function passed(milliseconds: number, signal: AbortSignal): Promise<"late"> {
  for (let left = milliseconds; left > 0; left -= stepMs) await pause(stepMs, undefined, { signal })
  return "late"
}
