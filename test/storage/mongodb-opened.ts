// A driver on its own database of the tests' shared replica set, with a collection of every kind of index.
import { type CollectionSpec, type Document, defineCollection, type Json } from "../../core/contract/collection.ts"
import { systemClock } from "../../core/kernel/clock.ts"
import { createLog } from "../../core/kernel/log.ts"
import { createMongoDriver, type MongoDriver, type MongoDriverOptions } from "../../core/storage/mongodb/driver.ts"
import { sharedMongo } from "../mongodb-server.ts"

export interface Thing extends Document {
  [field: string]: Json | undefined
}
export const things = defineCollection<Thing>()({
  name: "things",
  scope: "organization",
  times: ["at", "tries.at"],
  expires: "expires_at",
  indexes: [{ fields: ["slug"], unique: true, sparse: true }, { fields: ["-at"] }],
})

export async function opened(collections: readonly CollectionSpec[], more: Partial<MongoDriverOptions> = {}): Promise<MongoDriver> {
  const driver = createMongoDriver({ url: (await sharedMongo()).freshUrl(), clock: systemClock, log: createLog("silent"), ...more })
  await driver.start(collections)
  return driver
}
