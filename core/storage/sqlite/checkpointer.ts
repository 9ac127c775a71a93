// The thread that carries the log over: a step on request, of what is in the log when it begins.
import { DatabaseSync } from "node:sqlite"
import { parentPort, workerData } from "node:worker_threads"

export interface LogState {
  /** Pages in the log, carried over or not. */
  readonly pages: number
}

const database = new DatabaseSync(String(workerData))
// The log is flushed before pages of it are copied, and the file before the log may restart.
database.exec("PRAGMA synchronous=FULL")
const step = database.prepare("PRAGMA wal_checkpoint(PASSIVE)")

parentPort?.on("message", (request: "step" | "close") => {
  if (request === "close") {
    database.close()
    parentPort?.close()
    return
  }
  step.get()
  // Once more, for what came during the first: the less is left, the less does the writer carry over itself.
  parentPort?.postMessage({ pages: Number(step.get()?.["log"]) } satisfies LogState)
})
