// Collections and indexes on MongoDB, created as declarations change, also during an election of a primary.
import { expect } from "chai"
import { type Db, MongoClient, MongoServerError } from "mongodb"
import { type CollectionSpec, defineCollection } from "../../core/contract/collection.ts"
import { systemClock } from "../../core/kernel/clock.ts"
import { AppError } from "../../core/kernel/errors.ts"
import { createLog } from "../../core/kernel/log.ts"
import { createMongoDriver, type MongoDriver } from "../../core/storage/mongodb/driver.ts"
import { layOut } from "../../core/storage/mongodb/layout.ts"
import { mongoAvailable, sharedMongo } from "../mongodb-server.ts"
import { refusalOf } from "../refusal.ts"
import { opened, type Thing, things } from "./mongodb-opened.ts"

const specs = ["things", "others"].map((name) =>
  defineCollection<{ id: string; slug: string }>()({ name, scope: "global", times: [], indexes: [{ fields: ["slug"] }] }),
)

/** A database whose calls of each kind fail once with this code; `failed` collects the failed kinds. */
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

const log = createLog("silent")
const acme = "0199aaaa-0000-7000-8000-000000000001"

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

  it("drops indexes of older declarations and keeps those made by hand", async () => {
    const driver = await opened([things])
    await driver.db.collection(things.name).createIndex({ byHand: 1 }, { name: "by_hand" })
    const other = createMongoDriver({ url: urlOf(driver), clock: systemClock, log })
    const few = { fields: ["-at"], only: { kind: "few" } }
    await other.start([{ ...things, indexes: [{ fields: ["slug", "kind"], unique: true, sparse: true }, few] }])
    const names = (await driver.db.collection(things.name).indexes()).map(({ name }) => name)
    const ofFew = 'mr:organization_id,-at,-_id:kind="few"'
    expect(names).to.have.members(["_id_", "by_hand", "mr:expires_at:expires", "mr:organization_id,slug,kind:unique:sparse", ofFew])
    const cursor = driver.db.collection(things.name).find({ organization_id: acme, kind: { $eq: "few" } })
    const plan = await cursor.sort({ at: -1, _id: -1 }).explain("queryPlanner")
    expect(JSON.stringify(plan["queryPlanner"].winningPlan)).to.include(JSON.stringify(ofFew)).and.not.include('"SORT"')
    await other.stop()
    const again = createMongoDriver({ url: urlOf(driver), clock: systemClock, log })
    await again.start([things])
    await again.stop()
    await driver.db.dropDatabase()
    await driver.stop()
  })

  it("reports every collection that cannot be laid out", async () => {
    const db = await opened([])
    for (const name of ["one", "two"]) await db.db.collection<Thing>(name).insertMany([{ id: "a" }, { id: "b" }])
    const spec = (name: string): CollectionSpec => ({ name, scope: "global", times: [], indexes: [{ fields: ["email"], unique: true }] })
    const failing = createMongoDriver({ url: urlOf(db), clock: systemClock, log })
    const error = await failing.start([spec("one"), spec("two")]).then(String, (thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(AppError)
    expect((error as AppError).message).to.match(/one: .*two: /)
    await db.db.dropDatabase()
    await db.stop()
  })
})

function urlOf(driver: MongoDriver): string {
  const { hosts, replicaSet } = driver.db.client.options
  return `mongodb://${hosts.join(",")}/${driver.db.databaseName}?replicaSet=${replicaSet}`
}
