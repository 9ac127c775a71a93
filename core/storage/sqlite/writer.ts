// Writer thread, the only thread that changes the data file. It handles requests in order: groups of commits, expiry steps, and
// probes.
import { closeSync, copyFileSync, openSync, readSync, writeSync } from "node:fs"
import type { DatabaseSync } from "node:sqlite"
import type { CollectionSpec } from "../../contract/collection.ts"
import { isDamage, isFull } from "./damage.ts"
import { OpenedFile } from "./data-file.ts"
import { Expiry } from "./expiry.ts"
import { Groups, lastGroup } from "./groups.ts"
import { type FileSettings, layOut, openForWriting } from "./layout.ts"
import { Organizations } from "./organizations.ts"
import { unpacked } from "./packed.ts"
import { Probe } from "./probe.ts"
import { serve } from "./serve.ts"
import { Tables } from "./table.ts"
import type { FileFault, LostCommits, SentRequest, WriterReply, WriterRequest } from "./wire.ts"

type WriterData = FileSettings & { readonly collections: readonly CollectionSpec[] }

serve<WriterData, SentRequest, WriterReply>(({ collections, ...settings }) => {
  const database = openForWriting(settings)
  const counter = new CommitCounter(settings.file)
  // Runs before any write, because a written log may restart.
  const lost = lostSince(settings.file, database, counter)
  const organizations = new Organizations(database)
  layOut(database, collections, organizations)
  const groups = new Groups(database, new Tables(database, collections), organizations)
  const expiry = new Expiry(database, collections)
  const probe = new Probe(database)
  const opened = new OpenedFile(settings.file)
  let fault: FileFault | undefined

  const gone = (): FileFault | undefined => {
    const message = opened.gone()
    return message === undefined ? undefined : { reason: "storage_missing", message }
  }

  const done = (request: WriterRequest): Omit<WriterReply, "seq"> => {
    switch (request.kind) {
      case "group": {
        const results = groups.write(unpacked(request.group))
        counter.note(groups.last)
        probe.wrote(request.group.length)
        return { results }
      }
      case "expire":
        return { more: expiry.step(request.now) }
      case "probe":
        probe.write()
        return {}
      case "checkpoint":
        database.exec("PRAGMA wal_checkpoint(PASSIVE)")
        return {}
    }
  }

  return {
    greeting: { seq: 0, lost },
    answer({ seq, request }) {
      const refused = (by: FileFault): WriterReply => ({ seq, failure: by.message, fault: by })
      try {
        // A damaged file stays unchanged, and a missing file may come back. The check before the write prevents writes to a moved
        // file. The check after the write ensures that acknowledged commits are in place.
        if (fault?.reason !== "storage_corrupt") fault = gone()
        const reply = fault ? refused(fault) : { seq, ...done(request) }
        fault ??= gone()
        return fault ? refused(fault) : reply
      } catch (error) {
        const failure = error instanceof Error ? error.message : String(error)
        if (isDamage(error)) fault = { reason: "storage_corrupt", message: `The data file ${settings.file} is damaged: ${failure}.` }
        if (request.kind === "group") probe.refused(request.group.length)
        return fault ? refused(fault) : { seq, failure, full: isFull(error) }
      }
    },
    close() {
      database.close()
      counter.close()
    },
  }
})

/** Compares the last group in the file with the last noted group. Keeps a copy of a log that ends earlier. */
function lostSince(file: string, database: DatabaseSync, noted: CommitCounter): LostCommits | undefined {
  const { group, at } = noted.read()
  const last = lastGroup(database)
  const groupsLost = group - last
  if (groupsLost <= 0) return undefined
  noted.note(last)
  const copy = `${file}-wal.damaged-${new Date(at).toISOString().replaceAll(/[:.]/g, "-")}`
  try {
    copyFileSync(`${file}-wal`, copy)
  } catch {
    return { groups: groupsLost, at: new Date(at).toISOString(), log: undefined }
  }
  return { groups: groupsLost, at: new Date(at).toISOString(), log: copy }
}

const bytes = 16

/**
 * The number of the last committed group, in a separate file beside the data file. SQLite silently drops the rest of its log
 * after a damaged place. A higher number here than in the data file reveals the loss. The number is written after the group's
 * flush, without its own flush. After a power cut it may be lower, but never higher.
 */
class CommitCounter {
  readonly #descriptor: number
  readonly #view = new DataView(new ArrayBuffer(bytes))

  constructor(file: string) {
    // Opens for reading and writing without truncation. Creates a missing file.
    closeSync(openSync(`${file}-commits`, "a", 0o600))
    this.#descriptor = openSync(`${file}-commits`, "r+")
  }

  /** Returns the last noted group and its time (milliseconds since the epoch), or 0. */
  read(): { readonly group: number; readonly at: number } {
    if (readSync(this.#descriptor, this.#view, 0, bytes, 0) < bytes) return { group: 0, at: 0 }
    return { group: this.#view.getFloat64(0), at: this.#view.getFloat64(8) }
  }

  note(group: number): void {
    this.#view.setFloat64(0, group)
    this.#view.setFloat64(8, Date.now())
    try {
      writeSync(this.#descriptor, this.#view, 0, bytes, 0)
    } catch {
      // The commit is still valid. A number that is too low reports no loss.
    }
  }

  close(): void {
    closeSync(this.#descriptor)
  }
}
