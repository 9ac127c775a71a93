// What befalls a data file while a store has it open, done from outside.
import { closeSync, openSync, writeSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { untilProcess as until } from "../waiting.ts"

/** As a crash between two commits would leave it: everything in the file, nothing in the log. */
export async function carryLogOver(file: string): Promise<void> {
  const raw = new DatabaseSync(file)
  const carryOver = raw.prepare("PRAGMA wal_checkpoint(TRUNCATE)")
  try {
    // The store's own threads may be at the log just now.
    await until("the log being carried over", () => carryOver.get()?.["busy"] === 0)
  } finally {
    raw.close()
  }
}

/** Overwrites with what no page begins with, in place: a file that is shorter for a moment ends the threads that have it mapped. */
export function scribbleOn(file: string, at: number, bytes: number): void {
  const opened = openSync(file, "r+")
  try {
    writeSync(opened, Buffer.alloc(bytes, 0xa5), 0, bytes, at)
  } finally {
    closeSync(opened)
  }
}
