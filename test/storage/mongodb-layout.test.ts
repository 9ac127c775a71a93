// Collections and indexes on MongoDB, laid out while the set elects another primary.
import { expect } from "chai"
import { type Db, MongoClient, MongoServerError } from "mongodb"
import { defineCollection } from "../../core/contract/collection.ts"
import { layOut } from "../../core/storage/mongodb/layout.ts"
import { mongoAvailable, sharedMongo } from "../mongodb-server.ts"
import { refusalOf } from "../refusal.ts"

const specs = ["things", "others"].map((name) =>
  defineCollection<{ id: string; slug: string }>()({ name, scope: "global", times: [], indexes: [{ fields: ["slug"] }] }),
)

/** The database, of which each kind of call fails once with that code; `failed` is which did. */
function interrupted(db: Db, code: number, failed = new Set<string>()): Db {
  return new Proxy(db, {
    get(target, name) {
      const method = target[name as keyof Db] as unknown
      if (typeof method !== "function") return method
      return (...args: unknown[]) => {
        if (name === "collection" || failed.has(String(name))) return method.apply(target, args)
        failed.add(String(name))
        return Promise.reject(new MongoServerError({ message: "operation was interrupted", code }))
      }
    },
  })
}

const suite = mongoAvailable ? describe : describe.skip

suite("storage: mongodb, its layout", () => {
  let client: MongoClient
  before(async () => {
    client = new MongoClient((await sharedMongo()).freshUrl())
  })
  after(async () => {
    await client.db().dropDatabase()
    await client.close()
  })

  it("is gone on with after an election that interrupted it", async () => {
    expect(await layOut(interrupted(client.db(), 11_602), specs)).to.deep.equal([])
    for (const { name } of specs) expect(await client.db().collection(name).indexExists("mr:slug,_id")).to.equal(true)
  })

  it("is refused where its index is there under another name, with the server's own words", async () => {
    const db = client.db("laid_out_otherwise")
    await db.collection("things").createIndex({ slug: 1, _id: 1 }, { name: "by_hand" })
    const error = await refusalOf(layOut(db, specs))
    expect([error.code, error.details.reason]).to.deep.equal(["failed_precondition", "database_setup_failed"])
    expect(error.details["problems"])
      .to.have.length(1)
      .and.match(/^things: /)
    expect(await db.collection("things").indexExists("by_hand"), "the index that was there").to.equal(true)
    await db.dropDatabase()
  })

  it("is refused at once for what does not pass", async () => {
    const failed = new Set<string>()
    const error = await layOut(interrupted(client.db(), 13, failed), specs).catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(Error).with.property("code", 13)
    expect(failed.size, "calls before it was refused").to.equal(1)
  })
})
