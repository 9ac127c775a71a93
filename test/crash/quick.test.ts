// The least of what is tried under load in the slow tier: one kill, and one stop.
import { expect } from "chai"
import { killRound } from "./rounds.ts"
import { underLoad } from "./under-load.ts"

describe("a service under load", () => {
  it("keeps what it acknowledged when it is killed", async () => {
    const { kills, problems } = await killRound({ kills: 1, connections: 48 })
    expect(problems).to.deep.equal([])
    expect(kills).to.have.length(1)
    expect(kills[0]?.acknowledged).to.be.greaterThan(0)
  })

  it("loses nothing that was taken when it is asked to stop", async () => {
    let code: number | string | null = null
    const { sender, findings } = await underLoad({
      connections: 8,
      async happens(service) {
        service.signal("SIGTERM")
        code = await service.ended()
      },
    })
    expect(findings.problems).to.deep.equal([])
    expect(code).to.equal(0)
    expect([...sender.refused.values()].filter((status) => status !== 503)).to.deep.equal([])
    expect(findings.kept).to.equal(0)
  })
})
