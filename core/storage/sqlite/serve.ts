// Thread side of thread.ts. It opens its data and answers requests in order. After `close` it may receive other data.
import { type MessagePort, parentPort } from "node:worker_threads"

export interface Serving<Request, Reply> {
  /** Sent after the open. */
  readonly greeting?: Reply
  answer(request: Request): Reply
  close(): void
}

/** An error of `open` ends the thread. */
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
