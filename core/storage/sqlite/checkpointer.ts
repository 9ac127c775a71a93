// The thread that carries the log over: a step on request, of what is in the log when it begins.
import { DatabaseSync } from "node:sqlite"
import { serve } from "./serve.ts"

export interface LogState {
  /** Pages in the log, carried over or not. */
  readonly pages: number
}

serve<string, "step", LogState>((file) => {
  const database = new DatabaseSync(file)
  // The log is flushed before pages of it are copied, and the file before the log may restart.
  database.exec("PRAGMA synchronous=FULL")
  const step = database.prepare("PRAGMA wal_checkpoint(PASSIVE)")
  return {
    answer() {
      step.get()
      // Once more, for what came during the first: the less is left, the less does the writer carry over itself.
      return { pages: Number(step.get()?.["log"]) }
    },
    close: () => database.close(),
  }
})
