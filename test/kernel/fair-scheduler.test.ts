// Turns by organization and key, tested with random sequences of scheduler operations.
import { expect } from "chai"
import { array, assert, constant, constantFrom, integer, oneof, property, record } from "fast-check"
import { FairLimiter } from "../../core/kernel/fair-limiter.ts"
import { FairScheduler, type FairSchedulerOptions, type Turn } from "../../core/kernel/fair-scheduler.ts"

interface Item {
  readonly organization: string
  readonly key: string
  readonly number: number
}

const organizations = ["a", "b", "c", "d", "e"]
const keys = ["p", "q", "r"]

const operation = oneof(
  {
    weight: 5,
    arbitrary: record({ do: constant("add" as const), organization: constantFrom(...organizations), key: constantFrom(...keys) }),
  },
  { weight: 3, arbitrary: record({ do: constant("next" as const), most: integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: record({ do: constant("done" as const), which: integer({ min: 0, max: 9 }) }) },
  { weight: 1, arbitrary: record({ do: constant("putBack" as const), which: integer({ min: 0, max: 9 }) }) },
)
const settings = record({
  maxWaiting: integer({ min: 1, max: 12 }),
  maxWaitingPerOrganization: integer({ min: 1, max: 12 }),
  slots: integer({ min: 2, max: 5 }),
  reservedSlots: integer({ min: 0, max: 1 }),
})

/** A scheduler beside a minimal record of its items. */
class Model {
  readonly scheduler: FairScheduler<Item>
  readonly waiting: Item[] = []
  readonly out: Turn<Item>[] = []
  refused = 0
  /** Turns of others while a runnable organization or key waited. */
  readonly passedBy = new Map<string, Set<string>>()
  readonly #options: Omit<FairSchedulerOptions<Item>, "refuse">
  #added = 0

  constructor(options: Omit<FairSchedulerOptions<Item>, "refuse">) {
    this.#options = options
    this.scheduler = new FairScheduler({ ...options, refuse: (item, bound) => this.#refused(item, bound) })
  }

  of(organization: string, key?: string): Item[] {
    return this.waiting.filter((item) => item.organization === organization && (key === undefined || item.key === key))
  }

  running(organization: string): number {
    return this.out.filter((turn) => turn.organization === organization).length
  }

  add(organization: string, key: string): void {
    const item = { organization, key, number: this.#added++ }
    this.waiting.push(item)
    this.scheduler.add(organization, key, item)
  }

  next(most: number): void {
    const { slots = 0, reservedSlots = 0 } = this.#options
    const mayTakeMore = slots - this.out.length > reservedSlots
    const mayRun = (organization: string) => this.out.length < slots && (mayTakeMore || this.running(organization) === 0)
    const able = organizations.filter((organization) => this.of(organization).length > 0 && mayRun(organization))
    const turn = this.scheduler.next(() => most)
    if (!turn) {
      expect(able, "nothing was taken though these could have been").to.deep.equal([])
      return
    }
    const { organization, key, items } = turn
    expect(able).to.include(organization)
    expect(items).to.deep.equal(this.of(organization, key).slice(0, most))
    this.#passBy(able, organization)
    this.#passBy(
      keys.filter((item) => this.of(organization, item).length > 0).map((item) => `${organization}/${item}`),
      `${organization}/${key}`,
    )
    for (const item of items) this.waiting.splice(this.waiting.indexOf(item), 1)
    this.out.push(turn)
  }

  finish(which: number): void {
    const [turn] = this.out.splice(which, 1)
    turn?.done()
    turn?.done()
  }

  putBack(which: number): void {
    const turn = this.out[which]
    if (!turn) return
    const before = this.waiting.findIndex((item) => item.organization === turn.organization && item.key === turn.key)
    this.waiting.splice(before < 0 ? this.waiting.length : before, 0, ...turn.items)
    this.scheduler.putBack(turn.organization, turn.key, turn.items)
    this.finish(which)
  }

  check(): void {
    expect(this.scheduler.waiting).to.equal(this.waiting.length)
    expect(this.scheduler.running).to.equal(this.out.length)
    const shares = new Map(this.scheduler.shares().map((share) => [share.organization, share]))
    for (const organization of organizations) {
      const { waiting = 0, running = 0 } = shares.get(organization) ?? {}
      expect([waiting, running]).to.deep.equal([this.of(organization).length, this.running(organization)])
    }
  }

  /** A runnable item waits for at most one turn of each other organization. */
  #passBy(able: readonly string[], passedKey: string): void {
    for (const item of able) {
      if (item === passedKey) {
        this.passedBy.delete(item)
        continue
      }
      const before = this.passedBy.get(item) ?? new Set()
      // An organization with slots yields to organizations without slots; it has had its share.
      if (!item.includes("/") && this.running(item) > 0) before.clear()
      expect(before.has(passedKey), `${passedKey} had a second turn before ${item} had one`).to.equal(false)
      this.passedBy.set(item, before.add(passedKey))
    }
  }

  #refused(item: Item, bound: "organization" | "total"): void {
    const { maxWaiting, maxWaitingPerOrganization = maxWaiting } = this.#options
    const own = this.of(item.organization)
    if (bound === "organization") expect(own.length).to.be.greaterThan(maxWaitingPerOrganization)
    else {
      expect(this.waiting.length).to.be.greaterThan(maxWaiting)
      for (const organization of organizations) expect(own.length).to.be.at.least(this.of(organization).length)
    }
    const queue = this.of(item.organization, item.key)
    for (const key of keys) expect(queue.length).to.be.at.least(this.of(item.organization, key).length)
    expect(queue.at(-1)).to.equal(item)
    this.waiting.splice(this.waiting.lastIndexOf(item), 1)
    this.refused++
  }
}

describe("fair scheduler", () => {
  it("keeps its word for any work, in any order", async () => {
    let turns = 0
    let refused = 0
    await assert(
      property(settings, array(operation, { minLength: 20, maxLength: 120 }), (options, operations) => {
        const model = new Model({ ...options, now: () => 0 })
        for (const item of operations) {
          if (item.do === "add") model.add(item.organization, item.key)
          else if (item.do === "next") model.next(item.most)
          else if (item.do === "done") model.finish(item.which)
          else model.putBack(item.which)
          model.check()
        }
        turns += model.out.length
        refused += model.refused
      }),
      { seed: 20261122, numRuns: 500 },
    )
    expect(turns).to.be.greaterThan(500)
    expect(refused).to.be.greaterThan(500)
  })

  it("gives an organization its turn after one of each that waits, however many keys and items they flood", () => {
    const scheduler = new FairScheduler<number>({ maxWaiting: 20_000, refuse: () => expect.fail("refused") })
    for (let i = 0; i < 3_000; i++) scheduler.add(`hostile-${i % 7}`, `pipeline-${i % 350}`, i)
    for (let round = 0; round < 20; round++) {
      scheduler.add("quiet", "only", -1)
      let before = 0
      while (scheduler.next()?.organization !== "quiet") before++
      expect(before).to.be.at.most(7)
    }
  })

  it("keeps the reserved slots for organizations that hold none", () => {
    const scheduler = new FairScheduler<number>({ maxWaiting: 100, slots: 4, reservedSlots: 1, refuse: () => expect.fail("refused") })
    for (let i = 0; i < 10; i++) scheduler.add("hostile", `${i}`, i)
    const turns = [scheduler.next(), scheduler.next(), scheduler.next()]
    expect(turns.map((turn) => turn?.organization)).to.deep.equal(["hostile", "hostile", "hostile"])
    expect(scheduler.next()).to.equal(undefined)
    scheduler.add("quiet", "only", -1)
    expect(scheduler.next()?.organization).to.equal("quiet")
    expect(scheduler.next()).to.equal(undefined)
    turns[0]?.done()
    expect(scheduler.next()).to.equal(undefined)
    expect(() => new FairScheduler({ maxWaiting: 1, slots: 1, reservedSlots: 1, refuse: () => {} })).to.throw(RangeError, "1 of 1 slots")
  })

  it("refuses the newest of the longest queue at the bound, and nobody below an equal share of it", () => {
    const refused: string[] = []
    const scheduler = new FairScheduler<string>({ maxWaiting: 10, refuse: (item, bound) => refused.push(`${item} ${bound}`) })
    for (let i = 0; i < 10; i++) scheduler.add("hostile", "x", `hostile ${i}`)
    for (let i = 0; i < 5; i++) scheduler.add("quiet", "y", `quiet ${i}`)
    expect(refused).to.deep.equal([9, 8, 7, 6, 5].map((i) => `hostile ${i} total`))
    scheduler.add("quiet", "y", "quiet 5")
    expect(refused.at(-1)).to.equal("quiet 5 total")
  })

  it("takes what goes together, and passes over what may not go now", () => {
    const scheduler = new FairScheduler<string>({ maxWaiting: 10, refuse: () => {} })
    for (const item of ["a1", "a2", "b1", "a3"]) scheduler.add("o", item.slice(0, 1), item)
    expect(scheduler.next((items) => items.length)?.items).to.deep.equal(["a1", "a2", "a3"])
    scheduler.add("o", "a", "a4")
    expect(scheduler.next((_items, _organization, key) => (key === "b" ? 0 : 1))?.items).to.deep.equal(["a4"])
    expect(scheduler.clear()).to.deep.equal(["b1"])
    expect(scheduler.next()).to.equal(undefined)
  })

  it("says who waits, and for how long without a turn", () => {
    let now = 0
    const scheduler = new FairScheduler<number>({ maxWaiting: 10, now: () => now, refuse: () => {} })
    scheduler.add("a", "", 1)
    now = 1_000
    scheduler.add("b", "", 1)
    scheduler.add("a", "", 2)
    now = 3_000
    expect(scheduler.shares()).to.deep.equal([
      { organization: "a", waiting: 2, running: 0, waitingMs: 3_000 },
      { organization: "b", waiting: 1, running: 0, waitingMs: 2_000 },
    ])
    scheduler.next()?.done()
    now = 4_000
    expect(scheduler.shares().map(({ organization, waitingMs }) => [organization, waitingMs])).to.deep.equal([
      ["b", 3_000],
      ["a", 1_000],
    ])
  })
})

describe("fair limiter", () => {
  const limiter = (slots: number, maxWaiting = 100) =>
    new FairLimiter({ slots, reservedSlots: 0, maxWaiting, refusal: (bound) => new Error(`full: ${bound}`) })

  it("starts work in turn, and as much as there are slots", async () => {
    const limit = limiter(2)
    const started: string[] = []
    const gates: (() => void)[] = []
    const work = (name: string) => () => {
      started.push(name)
      return new Promise<string>((resolve) => gates.push(() => resolve(name)))
    }
    const all = ["a1", "a2", "a3", "b1"].map((name) => limit.run({ organization: name.slice(0, 1) }, work(name)))
    await new Promise((resolve) => setImmediate(resolve))
    expect(started).to.deep.equal(["a1", "a2"])
    while (started.length < 4) {
      gates.shift()?.()
      await new Promise((resolve) => setImmediate(resolve))
    }
    for (const open of gates) open()
    expect(started.slice(2)).to.deep.equal(["a3", "b1"])
    expect(await Promise.all(all)).to.deep.equal(["a1", "a2", "a3", "b1"])
    expect(limit.shares()).to.deep.equal([])
  })

  it("gives the slot back when work fails, refuses at the bound, and ends a wait that is given up", async () => {
    const limit = limiter(1, 1)
    const failed = (promise: Promise<unknown>) =>
      promise.then(
        () => "fine",
        (error: Error) => error.message,
      )
    let fail = (_: Error) => {}
    const first = failed(
      limit.run(
        { organization: "a" },
        () =>
          new Promise((_, reject) => {
            fail = reject
          }),
      ),
    )
    await new Promise((resolve) => setImmediate(resolve))
    const giveUp = new AbortController()
    const second = failed(limit.run({ organization: "a", signal: giveUp.signal }, async () => "ran"))
    expect(await failed(limit.run({ organization: "a" }, async () => "ran"))).to.equal("full: organization")
    giveUp.abort(new Error("given up"))
    expect(await second).to.equal("given up")
    const third = limit.run({ organization: "a" }, async () => "ran")
    fail(new Error("broken"))
    expect(await first).to.equal("broken")
    expect(await third).to.equal("ran")
  })
})
