// Handles faults that no code caught. A rejection in a request fails only this request. Any other fault ends the process, since
// its state is unknown. The supervisor starts the next process.
import type { Logger } from "../kernel/log.ts"
import { currentRequest } from "../kernel/request-scope.ts"

export interface Faulty {
  readonly log: Logger
  /** Closes the intake and drains. */
  stop(): Promise<void>
  /** Ends child processes at once. */
  kill?(): void
}

/** Maximum drain time after a fault. */
const maxDrainMs = 10_000

export function handleProcessFaults(service: Faulty): void {
  let ending = false
  const end = (error: unknown, message: string) => {
    service.log.fatal({ err: error }, message)
    if (ending) return
    ending = true
    const exit = () => {
      service.kill?.()
      process.exit(1)
    }
    drain(service).then(exit, exit)
  }
  process.on("uncaughtException", (error) => end(error, "an exception was not caught; the service drains and exits"))
  process.on("unhandledRejection", (reason) => {
    const request = currentRequest()
    if (!request) return end(reason, "a rejection was not handled; the service drains and exits")
    service.log.error({ err: reason }, "a request failed because it did not handle a rejection")
    request.fail()
  })
}

/** Resolves after the drain, or at its limit. Never rejects. */
function drain(service: Faulty): Promise<void> {
  const limit = new Promise<void>((resolve) => setTimeout(resolve, maxDrainMs))
  const stopped = service.stop().catch((error: unknown) => service.log.error({ err: error }, "could not stop cleanly"))
  return Promise.race([stopped, limit])
}
