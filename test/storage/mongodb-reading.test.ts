// Reads from MongoDB with a deadline that passes while this process is paused: received data counts.
import { expect } from "chai"
import type { Db } from "mongodb"
import { defineCollection } from "../../core/contract/collection.ts"
import { systemClock } from "../../core/kernel/clock.ts"
import { Reading, type ReadingOptions } from "../../core/storage/mongodb/reading.ts"
import { refusalOf } from "../refusal.ts"

const things = defineCollection()({ name: "things", scope: "global", times: [], indexes: [] })
const query = { collection: things, organization: undefined, filter: {}, limit: 10, deadlineMs: 1 }

/** Returns reads of a database with this answer. */
function readingOf(answer: () => Promise<number>, clock = systemClock): Reading {
  const db = { collection: () => ({ countDocuments: answer }) } as unknown as Db
  const session = { session: () => ({ endSession: async () => undefined }), note: () => undefined } as unknown as ReadingOptions["seen"]
  return new Reading({ db, seen: session, clock })
}

describe("reads from MongoDB", () => {
  it("take an answer that is there when the process goes on, though their time is up", async () => {
    // Like socket input: read after expired timers.
    const answer = () => new Promise<number>((resolve) => setImmediate(() => resolve(7)))
    const stopped = new Int32Array(new SharedArrayBuffer(4))
    const counting = readingOf(answer).count(query)
    Atomics.wait(stopped, 0, 0, 600)
    expect(await counting).to.equal(7)
  })

  it("end where no answer comes", async () => {
    const hurried = { ...systemClock, after: (_milliseconds: number, run: () => void) => systemClock.after(0, run) }
    const refused = await refusalOf(readingOf(() => new Promise(() => undefined), hurried).count(query))
    expect([refused.code, refused.details.reason]).to.deep.equal(["unavailable", "storage_unavailable"])
  })
})
