// Commands of the MongoDB driver on connections that have just ended: repeated on other connections, without waiting for ever.
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import type { Socket } from "node:net"
import { expect } from "chai"
import { defineCollection } from "../../core/contract/collection.ts"
import type { Commit } from "../../core/contract/store.ts"
import { systemClock } from "../../core/kernel/clock.ts"
import { timeOrderedIds } from "../../core/kernel/ids.ts"
import { createLog } from "../../core/kernel/log.ts"
import { createMongoDriver } from "../../core/storage/mongodb/driver.ts"
import { mongoAvailable, sharedMongo } from "../mongodb-server.ts"
import { refusalOf } from "../refusal.ts"

const ids = timeOrderedIds(systemClock)
const things = defineCollection<{ id: string }>()({ name: "things", scope: "global", times: [], indexes: [] })

const suite = mongoAvailable ? describe : describe.skip

suite("storage: mongodb, connections that end", () => {
  it("are not waited for by what was about to use them", async () => {
    const opened: Socket[] = []
    const note = (message: unknown) => void opened.push((message as { socket: Socket }).socket)
    subscribe("net.client.socket", note)
    const driver = createMongoDriver({ url: (await sharedMongo()).freshUrl(), clock: systemClock, log: createLog("silent") })
    try {
      await driver.start([things])
      const insert = (id: string): Commit => ({ id: ids.uuid(), writes: [{ kind: "insert", collection: things, doc: { id } }] })
      const query = { collection: things, organization: undefined, filter: {}, limit: 10, deadlineMs: 60_000 }
      for (const use of [() => driver.commitGroup([insert("a")]), () => driver.count(query), () => driver.commitGroup([insert("b")])]) {
        await driver.ready()
        // The newest connection was used last and is used next. Its end is reported only after the event loop has closed it.
        opened.findLast(({ destroyed }) => !destroyed)?.destroy()
        await use()
      }
      expect(await driver.count(query)).to.equal(2)
    } finally {
      unsubscribe("net.client.socket", note)
      await driver.db.dropDatabase()
      await driver.stop()
    }
  })

  it("by a stop end what is read, though its deadline never comes", async () => {
    const clock = { ...systemClock, monotonic: () => 0 }
    const driver = createMongoDriver({ url: (await sharedMongo()).freshUrl(), clock, log: createLog("silent") })
    await driver.start([things])
    await driver.stop()
    const read = driver.count({ collection: things, organization: undefined, filter: {}, limit: 10, deadlineMs: 60_000 })
    expect((await refusalOf(read)).details.reason).to.equal("storage_unavailable")
  })
})
