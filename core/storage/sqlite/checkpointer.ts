// Checkpoint thread of the write-ahead log. On request it checkpoints the current content of the log.
import { DatabaseSync } from "node:sqlite"
import { serve } from "./serve.ts"

export interface LogState {
  /** Pages in the log, with or without a checkpoint. */
  readonly pages: number
}

serve<string, "step", LogState>((file) => {
  const database = new DatabaseSync(file)
  // The log is flushed before its pages are copied, and the file is flushed before the log may restart.
  database.exec("PRAGMA synchronous=FULL")
  const step = database.prepare("PRAGMA wal_checkpoint(PASSIVE)")
  return {
    answer() {
      step.get()
      // Repeats the step for writes during the first step. A smaller rest leaves less work for the writer.
      return { pages: Number(step.get()?.["log"]) }
    },
    close: () => database.close(),
  }
})
