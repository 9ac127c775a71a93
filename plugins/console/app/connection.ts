// Whether the service can be reached. Where it cannot, this asks again until it can, and what is shown is then read again.
import { type Signal, signal } from "@preact/signals"

/** What the last call could not reach; empty where all is well. */
export const connectionProblem: Signal<string> = signal("")
/** How often the service came back: what was read before is read again. */
export const returns: Signal<number> = signal(0)

const firstMs = 500
const maxMs = 5_000
let asking = false

/** Called where a call met silence; asks from then on. */
export function reportLost(message: string): void {
  connectionProblem.value = message
  if (asking) return
  asking = true
  inBackground(
    askUntilBack().finally(() => {
      asking = false
    }),
  )
}

async function askUntilBack(): Promise<void> {
  for (let ms = firstMs; ; ms = Math.min(maxMs, ms * 1.5)) {
    await new Promise((resolve) => setTimeout(resolve, ms))
    const answer = await fetch("/readyz", { cache: "no-store" }).catch(() => undefined)
    if (!answer?.ok) continue
    connectionProblem.value = ""
    returns.value++
    return
  }
}

// Starts tasks from event handlers and effects. These return no promise.

/** An error of the task goes to the browser's error log. */
export function inBackground(task: Promise<unknown>): void {
  task.catch(reportError)
}
