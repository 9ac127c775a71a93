// The service on MongoDB while MongoDB's servers die under load. Answered events are stored once, refused events are not stored,
// and events are accepted again with a new primary.
import { expect } from "chai"
import { mongoStartable, startSet } from "../mongodb-server.ts"
import { isSoak } from "../tier.ts"
import { untilProcess as until } from "../waiting.ts"
import { acknowledged, type UnderLoad, underLoad } from "./under-load.ts"

const deaths = isSoak ? 10 : 1
const connections = isSoak ? 32 : 8

const suite = mongoStartable ? describe : describe.skip

function expectBalanced({ sender, findings }: UnderLoad): void {
  expect(findings.problems).to.deep.equal([])
  expect([...sender.refused.values()].filter((status) => status !== 503)).to.deep.equal([])
  expect(sender.unanswered.size).to.equal(0)
}

suite("events while MongoDB dies (mongodb)", function () {
  this.timeout(600_000 + deaths * 300_000)

  it("the only member is stopped and started, again and again", async () => {
    const set = await startSet(1)
    try {
      const result = await underLoad({
        connections,
        env: { MILLRACE_STORAGE_URL: set.freshUrl() },
        async happens(_service, load) {
          for (let death = 0; death < deaths; death++) {
            await set.killPrimary()
            await set.startAll()
            await acknowledged(load, 100)
          }
        },
      })
      expectBalanced(result)
    } finally {
      await set.stop()
    }
  })

  // One service for all of these: with three servers, creating the database takes most of the time.
  it("the primary of three is killed again and again; then it, the secondaries and all of them hang, and go on", async () => {
    const set = await startSet(3)
    try {
      const result = await underLoad({
        connections,
        env: { MILLRACE_STORAGE_URL: set.freshUrl() },
        async happens(service, load) {
          const ready = async () => {
            const answer = await fetch(`${service.url}/readyz`)
            const { details } = (await answer.json()) as { details?: { reason: string } }
            return { status: answer.status, reason: details?.reason }
          }
          for (let death = 0; death < deaths; death++) {
            await set.killPrimary()
            await acknowledged(load, 100)
            await set.startAll()
          }
          const primary = await set.pause("primary")
          // Another primary is elected. The hanging one notices when it resumes.
          await acknowledged(load, 100)
          primary.resume()
          await acknowledged(load, 100)
          for (const who of ["secondaries", "all"] as const) {
            const hung = await set.pause(who)
            const { reason } = await until(`503 while ${who} hang`, async () => {
              const answer = await ready()
              return answer.status === 503 && answer
            })
            expect(reason).to.be.oneOf(["storage_timeout", "storage_unavailable"])
            const stays503 = async () => {
              for (let look = 0; look < 20; look++) expect((await ready()).status).to.equal(503)
            }
            // Events with an earlier majority are answered by the end of these waits. Later events cannot be acknowledged.
            await stays503()
            const before = load.acknowledged.size
            await stays503()
            expect(load.acknowledged.size).to.equal(before)
            hung.resume()
            await acknowledged(load, 100)
            await until("ready again", async () => (await ready()).status === 200)
          }
        },
      })
      expectBalanced(result)
    } finally {
      await set.stop()
    }
  })
})
