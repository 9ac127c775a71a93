// The thread that writes: it alone changes the data file. It takes requests in order: groups of commits, steps of
// expiry, and probes of whether a commit could be made.
import { parentPort, workerData } from "node:worker_threads"
import type { CollectionSpec } from "../../contract/collection.ts"
import { Expiry } from "./expiry.ts"
import { Groups } from "./groups.ts"
import { type FileSettings, layOut, openForWriting } from "./layout.ts"
import { Organizations } from "./organizations.ts"
import { unpacked } from "./packed.ts"
import { Table } from "./table.ts"
import type { WriterReply, WriterRequest } from "./wire.ts"

const { collections, ...settings } = workerData as FileSettings & { collections: readonly CollectionSpec[] }
const database = openForWriting(settings)
const organizations = new Organizations(database)
layOut(database, collections, organizations)
const groups = new Groups(
  database,
  collections.map((spec) => new Table(database, spec)),
  organizations,
)
const expiry = new Expiry(database, collections)

parentPort?.on("message", ({ seq, request }: { seq: number; request: WriterRequest | "close" }) => {
  if (request === "close") {
    database.close()
    parentPort?.close()
    return
  }
  let reply: WriterReply
  try {
    reply = { seq, ...answer(request) }
  } catch (error) {
    reply = { seq, failure: error instanceof Error ? error.message : String(error) }
  }
  parentPort?.postMessage(reply)
})
parentPort?.postMessage({ seq: 0 } satisfies WriterReply)

function answer(request: WriterRequest): Omit<WriterReply, "seq"> {
  switch (request.kind) {
    case "group":
      return { results: groups.write(unpacked(request.group)) }
    case "expire":
      return { more: expiry.step(request.now) }
    case "probe":
      database.exec("INSERT INTO _probe(n,at) VALUES(1,1) ON CONFLICT(n) DO UPDATE SET at=at+1")
      return {}
    case "checkpoint":
      database.exec("PRAGMA wal_checkpoint(PASSIVE)")
      return {}
  }
}
