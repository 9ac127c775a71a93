// A thread's own end of what thread.ts starts: it opens what it is given, answers what it is asked, in order, and may then be
// given the next.
import { type MessagePort, parentPort } from "node:worker_threads"

export interface Serving<Request, Reply> {
  /** Sent once it is open. */
  readonly greeting?: Reply
  answer(request: Request): Reply
  close(): void
}

/** What `open` throws ends the thread. */
export function serve<Data, Request, Reply>(open: (data: Data) => Serving<Request, Reply>): void {
  parentPort?.on("message", ({ data, port }: { data: Data; port: MessagePort }) => {
    const serving = open(data)
    port.on("message", (request: Request | "close") => {
      if (request !== "close") port.postMessage(serving.answer(request))
      else {
        serving.close()
        port.postMessage("closed")
        port.close()
      }
    })
    if (serving.greeting !== undefined) port.postMessage(serving.greeting)
  })
}
