// The service on MongoDB while MongoDB's servers die under load: what was answered is kept once, what was refused is not
// kept, and events are taken again once there is a primary.
import { expect } from "chai"
import { mongoStartable, startSet } from "../mongodb-server.ts"
import { acknowledged, type UnderLoad, underLoad } from "./under-load.ts"

const suite = mongoStartable ? describe : describe.skip

function expectBalanced({ sender, findings }: UnderLoad): void {
  expect(findings.problems).to.deep.equal([])
  expect([...sender.refused.values()].filter((status) => status !== 503)).to.deep.equal([])
  expect(sender.unanswered.size).to.equal(0)
}

suite("events while MongoDB dies (mongodb)", function () {
  this.timeout(300_000)

  it("the only member is stopped and started, three times", async () => {
    const set = await startSet(1)
    try {
      const result = await underLoad({
        env: { MILLRACE_STORAGE_URL: set.freshUrl() },
        async happens(_service, load) {
          for (let death = 0; death < 3; death++) {
            await set.killPrimary()
            await set.startAll()
            await acknowledged(load, 100, 60_000)
          }
        },
      })
      expectBalanced(result)
    } finally {
      await set.stop()
    }
  })

  it("the primary of three is killed again and again", async () => {
    const set = await startSet(3)
    try {
      const result = await underLoad({
        env: { MILLRACE_STORAGE_URL: set.freshUrl() },
        async happens(_service, load) {
          for (let death = 0; death < 4; death++) {
            await set.killPrimary()
            await acknowledged(load, 100, 60_000)
            await set.startAll()
          }
        },
      })
      expectBalanced(result)
    } finally {
      await set.stop()
    }
  })
})
