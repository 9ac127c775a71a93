// Connection state of the service. While the service is unreachable, this polls until it returns. Visible data is then reloaded.
import { type Signal, signal } from "@preact/signals"

/** Error of the last failed connection; empty if connected. */
export const connectionProblem: Signal<string> = signal("")
/** Number of returns of the service. Each return reloads the data. */
export const returns: Signal<number> = signal(0)

const firstMs = 500
const maxMs = 5_000
let asking = false

/** Called after a call without a response. Starts polling. */
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
