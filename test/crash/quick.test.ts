// The minimal case of the slow tier's tests under load: one kill.
import { expect } from "chai"
import { killRound } from "./rounds.ts"

describe("a service under load", () => {
  it("keeps what it acknowledged when it is killed", async () => {
    const { kills, problems } = await killRound({ kills: 1, connections: 48 })
    expect(problems).to.deep.equal([])
    expect(kills).to.have.length(1)
    expect(kills[0]?.acknowledged).to.be.greaterThan(0)
  })
})
