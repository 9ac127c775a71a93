// Damages a data file from outside while a store has it open.
import { closeSync, openSync, writeSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { untilProcess as until } from "../waiting.ts"

/** Simulates a crash between two commits: all data in the file, an empty log. */
export async function carryLogOver(file: string): Promise<void> {
  const raw = new DatabaseSync(file)
  const carryOver = raw.prepare("PRAGMA wal_checkpoint(TRUNCATE)")
  try {
    // The store's own threads may be using the log.
    await until("the log being carried over", () => carryOver.get()?.["busy"] === 0)
  } finally {
    raw.close()
  }
}

/** Overwrites bytes in place with an invalid page start. A temporarily shorter file would end threads with a mapping of it. */
export function scribbleOn(file: string, at: number, bytes: number): void {
  const opened = openSync(file, "r+")
  try {
    writeSync(opened, Buffer.alloc(bytes, 0xa5), 0, bytes, at)
  } finally {
    closeSync(opened)
  }
}
