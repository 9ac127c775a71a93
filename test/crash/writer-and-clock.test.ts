// Faults inside a running service: the writing thread dies, the clock is set back, many documents expire at once.
import { expect } from "chai"
import { testHost } from "#core/testing"
import { Driver } from "../../core/bootstrap/storage.ts"
import { defineCollection } from "../../core/contract/collection.ts"
import { type Clock, systemClock } from "../../core/kernel/clock.ts"
import type { SqliteDriver } from "../../core/storage/sqlite/driver.ts"
import { ShiftedClock } from "../shifted-clock.ts"
import { openFile } from "../storage/opened.ts"
import { isSoak } from "../tier.ts"
import { checkBooks, jobsSettled } from "./books.ts"
import { startPeer } from "./peer.ts"
import { makePipeline, shelves } from "./rounds.ts"
import { Sender } from "./sender.ts"
import { apiOf } from "./service-process.ts"
import { acknowledged } from "./under-load.ts"

describe("inside a running service under load", () => {
  async function booksAfter(clock: Clock | undefined, happens: (driver: SqliteDriver, sender: Sender) => Promise<void>) {
    const peer = await startPeer()
    const host = await testHost({
      capture: false,
      env: { MILLRACE_OUTGOING_ALLOW_HOSTS: peer.host, MILLRACE_LOG_LEVEL: "error", MILLRACE_JOBS_POLL_MS: "50" },
      ...(clock ? { clock } : {}),
    })
    try {
      const api = apiOf(host, host.dataDir)
      const { endpoint_id, secret } = await makePipeline(api, peer.url)
      const sender = new Sender({ url: `${host.url}/v1/inbound/${endpoint_id}`, secret, connections: 32, from: 1 })
      sender.start()
      await acknowledged(sender, 100)
      await happens(host.get(Driver).driver as SqliteDriver, sender)
      await sender.stop()
      const troubles = await jobsSettled(api)
      const { problems } = await checkBooks(api, shelves, sender, peer)
      return { problems: [...troubles, ...problems], sender }
    } finally {
      await host.stop()
      await peer.stop()
    }
  }

  it("the writing thread dies three times, and no event is lost, done twice or refused", async () => {
    const { problems, sender } = await booksAfter(undefined, async (driver, load) => {
      for (let death = 0; death < 3; death++) {
        await driver.killWriter()
        await acknowledged(load, 200)
      }
    })
    expect(problems).to.deep.equal([])
    expect([...sender.refused.values(), sender.unanswered.size]).to.deep.equal([0])
  })

  it("the clock is set back an hour, and events are taken, kept once and carried out as before", async () => {
    const clock = new ShiftedClock()
    const { problems, sender } = await booksAfter(clock, async (_driver, load) => {
      clock.step(-3_600_000)
      await acknowledged(load, 200)
    })
    expect(problems).to.deep.equal([])
    expect([...sender.refused.values(), sender.unanswered.size]).to.deep.equal([0])
    expect(new Set(sender.acknowledged.values()).size).to.equal(sender.acknowledged.size)
  })
})

describe("retention", () => {
  it("removes 20,000 documents that expired at once in small steps: no commit waits long for it", async () => {
    const expiring = defineCollection()({ name: "expiring", scope: "global", times: ["until"], indexes: [], expires: "until" })
    let now = Date.now()
    const opened = await openFile([expiring], { expireEveryMs: 50, clock: { ...systemClock, now: () => now } })
    const { store } = opened
    try {
      const soon = new Date(now + 1_500).toISOString()
      for (let batch = 0; batch < 20; batch++) {
        const writes = Array.from({ length: 1_000 }, (_, index) => {
          const doc = { id: `old-${batch}-${index}`, until: soon, text: "x".repeat(300) }
          return { kind: "insert", collection: expiring, doc } as const
        })
        await store.commit({ id: `fill-${batch}`, writes })
      }
      now += 2_000
      let slowest = 0
      let commits = 0
      /** Number of commits between the removal of the first and the last document. */
      let between = 0
      let hasBegun = false
      let isOver = false
      // The first commit that finds it missing inserts it again, without expiry.
      const inserted = (id: string) => ({ kind: "insert", collection: expiring, doc: { id }, ifPresent: "keep" }) as const
      const client = async () => {
        while (!isOver) {
          const began = performance.now()
          const id = `new-${commits++}`
          const { created } = await store.commit({ id, writes: [inserted("old-0-0"), inserted("old-19-999"), inserted(id)] })
          slowest = Math.max(slowest, performance.now() - began)
          hasBegun ||= created[0] === true
          isOver ||= created[1] === true
          if (hasBegun && !isOver) between++
        }
      }
      await Promise.all([1, 2, 3, 4].map(client))
      expect(await store.open(expiring).count({})).to.equal(commits + 2)
      console.log(`    retention: 20000 documents removed, the slowest of ${commits} commits beside it took ${Math.round(slowest)} ms`)
      expect(between, "commits between its steps").to.be.at.least(isSoak ? 100 : 1)
    } finally {
      await opened.close()
    }
  })
})
