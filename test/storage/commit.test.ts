// Group commit over a driver with groups ended by the test: merging, order and bounds.
import { expect } from "chai"
import { defineCollection } from "../../core/contract/collection.ts"
import type { Commit, CommitResult } from "../../core/contract/store.ts"
import { systemClock } from "../../core/kernel/clock.ts"
import { AppError } from "../../core/kernel/errors.ts"
import { MovableClock } from "../../core/kernel/movable-clock.ts"
import { GroupCommit, type GroupCommitLimits, type GroupObserver } from "../../core/storage/commit.ts"
import { refusalOf } from "../refusal.ts"
import type { Note } from "./contract.ts"

const things = defineCollection<Note>()({ name: "things", scope: "global", times: [], indexes: [] })

class HeldDriver {
  readonly keepsOrder: boolean
  readonly groups: { ids: string[]; end: (results?: (CommitResult | AppError)[]) => void; fail: (error: unknown) => void }[] = []
  readonly groupsInFlight: number
  #listeners: (() => void)[] = []

  constructor(groupsInFlight: number, keepsOrder: boolean) {
    this.groupsInFlight = groupsInFlight
    this.keepsOrder = keepsOrder
  }

  commitGroup(commits: readonly Commit[]): Promise<readonly (CommitResult | AppError)[]> {
    return new Promise((resolve, reject) => {
      const commitResults = commits.map(({ writes }): CommitResult => ({ created: writes.map(() => true) }))
      const end = (results: (CommitResult | AppError)[] = commitResults) => resolve(results)
      this.groups.push({ ids: commits.map(({ id }) => id), end, fail: reject })
      for (const notify of this.#listeners.splice(0)) notify()
    })
  }

  /** Resolves when this many groups have been passed on. */
  async handed(count: number): Promise<string[][]> {
    while (this.groups.length < count) await new Promise<void>((resolve) => this.#listeners.push(resolve))
    return this.groups.map(({ ids }) => ids)
  }
}

function commitOf(id: string, ...touched: string[]): Commit {
  return {
    id,
    writes: (touched.length > 0 ? touched : [`${id}-doc`]).map((doc) => ({ kind: "insert", collection: things, doc: { id: doc } })),
  }
}

function groupCommit(groupsInFlight = 1, limits: Partial<GroupCommitLimits> = {}, observe?: GroupObserver, keepsOrder = false) {
  const driver = new HeldDriver(groupsInFlight, keepsOrder)
  return { driver, group: new GroupCommit({ driver, clock: systemClock, limits, ...(observe ? { observe } : {}) }) }
}

describe("group commit", () => {
  it("merges what comes at once, and then what gathers while a group is in progress", async () => {
    const { driver, group } = groupCommit()
    const all = ["a", "b"].map((id) => group.commit(commitOf(id)))
    expect(await driver.handed(1)).to.deep.equal([["a", "b"]])
    all.push(...["c", "d", "e"].map((id) => group.commit(commitOf(id))))
    await new Promise(setImmediate)
    expect(driver.groups).to.have.length(1)
    expect(group.waiting).to.equal(3)
    driver.groups[0]?.end()
    expect(await driver.handed(2)).to.deep.equal([
      ["a", "b"],
      ["c", "d", "e"],
    ])
    driver.groups[1]?.end()
    expect((await Promise.all(all)).every(({ created }) => created[0])).to.equal(true)
  })

  it("lets a second group stand in line of one writer only where it is large", async () => {
    const { driver, group } = groupCommit(2, { earlyCommits: 3 }, undefined, true)
    const all = [group.commit(commitOf("a"))]
    await driver.handed(1)
    all.push(...["b", "c"].map((id) => group.commit(commitOf(id))))
    await new Promise(setImmediate)
    expect(driver.groups).to.have.length(1)
    all.push(group.commit(commitOf("d")))
    expect(await driver.handed(2)).to.deep.equal([["a"], ["b", "c", "d"]])
    all.push(...["e", "f", "g"].map((id) => group.commit(commitOf(id))))
    expect(driver.groups).to.have.length(2)
    driver.groups[0]?.end()
    expect((await driver.handed(3))[2]).to.deep.equal(["e", "f", "g"])
    for (const { end } of driver.groups) end()
    await Promise.all(all)
  })

  it("bounds a group by number and by bytes, and lets what is bigger go alone", async () => {
    const { driver, group } = groupCommit(1, { groupCommits: 3, groupBytes: 2_000 })
    const big: Commit = { id: "big", writes: [{ kind: "insert", collection: things, doc: { id: "x".repeat(5_000) } }] }
    const all = [...["a", "b", "c", "d"].map((id) => group.commit(commitOf(id))), group.commit(big), group.commit(commitOf("z"))]
    for (const [index, ids] of [["a", "b", "c"], ["d"], ["big"], ["z"]].entries()) {
      expect((await driver.handed(index + 1))[index]).to.deep.equal(ids)
      driver.groups[index]?.end()
    }
    await Promise.all(all)
  })

  it("never has one document in two groups in progress, and keeps its order", async () => {
    const { driver, group } = groupCommit(2)
    const all = [group.commit(commitOf("a1", "doc-a"))]
    await driver.handed(1)
    all.push(group.commit(commitOf("a2", "doc-a", "doc-b")), group.commit(commitOf("b1", "doc-b")), group.commit(commitOf("c1", "doc-c")))
    // b1 itself is free, but a2 came first and needs the same document.
    expect((await driver.handed(2))[1]).to.deep.equal(["c1"])
    driver.groups[1]?.end()
    await new Promise(setImmediate)
    expect(driver.groups).to.have.length(2)
    driver.groups[0]?.end()
    expect((await driver.handed(3))[2]).to.deep.equal(["a2", "b1"])
    driver.groups[2]?.end()
    await Promise.all(all)
  })

  it("never has one commit id in two groups in progress", async () => {
    const { driver, group } = groupCommit(2)
    const all = [group.commit(commitOf("same", "x"))]
    await driver.handed(1)
    all.push(group.commit(commitOf("same", "y")))
    await new Promise(setImmediate)
    expect(driver.groups).to.have.length(1)
    driver.groups[0]?.end()
    await driver.handed(2)
    driver.groups[1]?.end()
    await Promise.all(all)
  })

  it("refuses what would wait beyond the bounds, says when to come back, and answers the rest", async () => {
    const { driver, group } = groupCommit(1, { waitingCommits: 2, waitingBytes: 3_000 })
    const first = group.commit(commitOf("first"))
    await driver.handed(1)
    const waiting = [group.commit(commitOf("a")), group.commit(commitOf("b"))]
    const error = await refusalOf(group.commit(commitOf("c")))
    expect(error).to.include({ code: "unavailable", retryAfterS: 1 })
    expect(error.details.reason).to.equal("commit_timeout")
    driver.groups[0]?.end()
    await driver.handed(2)
    const heavy = [group.commit(commitOf("d", "x".repeat(2_000))), refusalOf(group.commit(commitOf("e", "x".repeat(2_000))))] as const
    expect((await heavy[1]).details.reason).to.equal("commit_timeout")
    driver.groups[1]?.end()
    expect((await driver.handed(3)).flat()).to.deep.equal(["first", "a", "b", "d"])
    driver.groups[2]?.end()
    await Promise.all([first, ...waiting, heavy[0]])
  })

  it("gives each its own outcome, and all of them a failure of the group", async () => {
    const observed: { commits: number; failed: number }[] = []
    const { driver, group } = groupCommit(1, {}, ({ commits, failed, milliseconds }) => {
      expect(milliseconds).to.be.at.least(0)
      observed.push({ commits, failed })
    })
    const [a, b, c] = [group.commit(commitOf("a")), refusalOf(group.commit(commitOf("b"))), group.commit(commitOf("c"))]
    await driver.handed(1)
    driver.groups[0]?.end([{ created: [true] }, new AppError("already_exists", "taken", { reason: "slug_taken" }), { created: [false] }])
    expect([(await a).created, (await b).code, (await c).created]).to.deep.equal([[true], "already_exists", [false]])
    const down = ["d", "e"].map((id) => refusalOf(group.commit(commitOf(id))))
    await driver.handed(2)
    driver.groups[1]?.fail(new AppError("unavailable", "down", { reason: "storage_unavailable" }))
    expect((await Promise.all(down)).map(({ code }) => code)).to.deep.equal(["unavailable", "unavailable"])
    const after = group.commit(commitOf("f"))
    await driver.handed(3)
    driver.groups[2]?.end()
    await after
    await group.close()
    expect(observed).to.deep.equal([
      { commits: 3, failed: 1 },
      { commits: 2, failed: 2 },
      { commits: 1, failed: 0 },
    ])
  })

  it("closes once what was accepted is answered, and accepts nothing more", async () => {
    const { driver, group } = groupCommit()
    const accepted = group.commit(commitOf("a"))
    let closed = false
    const closing = group.close().then(() => {
      closed = true
    })
    expect((await refusalOf(group.commit(commitOf("late")))).code).to.equal("unavailable")
    await driver.handed(1)
    expect(closed).to.equal(false)
    driver.groups[0]?.end()
    await accepted
    await closing
    expect(driver.groups).to.have.length(1)
  })

  it("refuses what waited too long, and never writes it", async () => {
    const driver = new HeldDriver(1, false)
    const clock = new MovableClock()
    const group = new GroupCommit({ driver, clock, limits: { waitMs: 10_000 } })
    const first = group.commit(commitOf("a"))
    await driver.handed(1)
    const waiting = [group.commit(commitOf("b")), group.commit(commitOf("c"))].map((commit) => refusalOf(commit))
    clock.move(6_000)
    const later = group.commit(commitOf("d"))
    clock.move(6_000)
    for (const { code, details } of await Promise.all(waiting))
      expect([code, details.reason]).to.deep.equal(["unavailable", "storage_unavailable"])
    expect(group.waiting).to.equal(1)
    driver.groups[0]?.end()
    expect(await driver.handed(2)).to.deep.equal([["a"], ["d"]])
    driver.groups[1]?.end()
    await Promise.all([first, later, group.close()])
  })
})
