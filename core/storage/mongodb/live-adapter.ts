// Carries live messages between nodes: socket.io's own adapter, on a collection of this database that forgets after a
// minute. What must not be lost is kept with its commit; here is only the quick way to the other nodes' sockets, so a
// write waits for no majority.
import { createAdapter } from "@socket.io/mongo-adapter"
import type { Db } from "mongodb"
import type { Logger } from "../../kernel/log.ts"

export type LiveAdapter = ReturnType<typeof createAdapter>

/** To be called once storage has started. */
export function liveAdapter(db: Db, log: Logger): LiveAdapter {
  const collection = db.collection("live_between_nodes", { writeConcern: { w: 1, journal: false } })
  collection.createIndex({ createdAt: 1 }, { expireAfterSeconds: 60, background: true }).catch((error: unknown) => {
    log.warn({ err: error }, "the collection that carries live messages between nodes has no expiry yet")
  })
  return createAdapter(collection, { addCreatedAtField: true })
}
