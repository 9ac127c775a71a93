// Work repeated after a conflict.
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { AppError, type Document, defineCollection } from "#core"
import { systemClock } from "../../core/kernel/clock.ts"
import { timeOrderedIds } from "../../core/kernel/ids.ts"
import { createSqliteDriver } from "../../core/storage/sqlite/driver.ts"
import { createStore, type StartedStore } from "../../core/storage/store.ts"
import { createUnitsOfWork } from "../../core/surface/units-of-work.ts"
import { failureOf } from "../refusal.ts"

interface Counter extends Document {
  count: number
  revision: number
}

const Counters = defineCollection<Counter>()({ name: "counters", scope: "global", times: [], indexes: [] })

describe("retryConflicts", () => {
  let folder: string
  let store: StartedStore
  const ids = timeOrderedIds(systemClock)
  const works = () => createUnitsOfWork({ store, ids, clock: systemClock })
  const count = async (id: string) => (await store.open(Counters).get(id))?.count
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-works-"))
    store = createStore({ driver: createSqliteDriver({ file: join(folder, "store.db") }), collections: [Counters], clock: systemClock })
    await store.start()
  })
  after(async () => {
    await store.stop()
    await rm(folder, { recursive: true })
  })

  /** Reads a counter and writes the next number, unless it has changed meanwhile. */
  const countUp = (id: string) =>
    works().retryConflicts(async (work) => {
      const before = await store.open(Counters).get(id)
      if (!before) work.in(Counters).insert({ id, count: 1, revision: 1 })
      else {
        const $set = { count: before.count + 1, revision: before.revision + 1 }
        work.in(Counters).update(id, { $set }, { where: { revision: before.revision } })
      }
    })

  it("keeps the change of each of a hundred writers of one document", async () => {
    await Promise.all(Array.from({ length: 100 }, () => countUp("many")))
    expect(await count("many")).to.equal(100)
  })

  it("commits once, and runs no hook of a refused commit", async () => {
    await countUp("once")
    let hooks = 0
    let tries = 0
    const value = await works().retryConflicts(async (work) => {
      const before = await store.open(Counters).get("once")
      if (tries++ === 0) await countUp("once")
      work.in(Counters).update("once", { $inc: { count: 1, revision: 1 } }, { where: { revision: before?.revision ?? 0 } })
      work.afterCommit(() => void hooks++)
      return tries
    })
    expect([value, hooks, await count("once")]).to.deep.equal([2, 1, 3])
  })

  it("repeats nothing after the failure of a hook, with any code", async () => {
    let tries = 0
    const error = await failureOf(
      works().retryConflicts((work) => {
        tries++
        work.in(Counters).insert({ id: "hook", count: 1, revision: 1 })
        work.afterCommit(() => {
          throw new AppError("aborted", "The hook failed.", { reason: "condition_not_met", collection: "counters", id: "hook" })
        })
      }),
    )
    expect([error.code, tries, await count("hook")]).to.deep.equal(["aborted", 1, 1])
  })

  it("repeats once if an unread document is missing", async () => {
    let tries = 0
    const error = await failureOf(
      works().retryConflicts((work) => {
        tries++
        work.in(Counters).update("nowhere", { $inc: { count: 1 } })
      }),
    )
    expect([error.code, tries]).to.deep.equal(["not_found", 2])
  })

  it("repeats if another document is missing", async () => {
    let tries = 0
    await works().retryConflicts((work) => {
      tries++
      if (tries < 5) work.in(Counters).update(`nowhere ${tries % 2}`, { $inc: { count: 1 } })
    })
    expect(tries).to.equal(5)
  })

  it("repeats nothing if the work itself refuses, or if the store refuses it for another cause", async () => {
    let tries = 0
    const refused = await failureOf(
      works().retryConflicts(() => {
        tries++
        throw new AppError("aborted", "It is at another revision.", { reason: "condition_not_met", collection: "counters", id: "a" })
      }),
    )
    const invalid = await failureOf(
      works().retryConflicts((work) => {
        tries++
        work.in(Counters).update("many", { $set: { "": 1 } })
      }),
    )
    expect([refused.code, invalid.code, tries]).to.deep.equal(["aborted", "invalid_argument", 2])
  })
})
