// Units of work outside a call, and permitted and forbidden uses of their hooks.
import { expect } from "chai"
import { Notes, orgA } from "./operations.ts"
import { openSurfaceBench, type SurfaceBench } from "./surface-bench.ts"

describe("a unit of work", () => {
  let bench: SurfaceBench
  before(async () => {
    bench = await openSurfaceBench()
  })
  after(() => bench.close())

  it("commits everything and then runs every hook, also after one that failed", async () => {
    const ran: string[] = []
    const run = bench.works.run(async (work) => {
      work.in(Notes, orgA.id).insert({ id: "w1", text: "kept" })
      work.afterCommit(() => {
        ran.push("first")
        throw new Error("hook failed")
      })
      work.afterCommit(async () => {
        ran.push((await bench.store.open(Notes, orgA.id).get("w1"))?.text ?? "not there yet")
      })
    })
    expect(await run.catch((error: Error) => error.message)).to.equal("hook failed")
    expect(ran).to.deep.equal(["first", "kept"])
  })

  it("leaves nothing and runs no hook when it throws, or its commit fails", async () => {
    const ran: string[] = []
    const thrown = bench.works.run((work) => {
      work.in(Notes, orgA.id).insert({ id: "w2", text: "never" })
      work.afterCommit(() => void ran.push("hook"))
      throw new Error("changed my mind")
    })
    expect(await thrown.catch((error: Error) => error.message)).to.equal("changed my mind")
    const refused = bench.works.run((work) => {
      work.in(Notes, orgA.id).insert({ id: "w2", text: "never" })
      work.in(Notes, orgA.id).insert({ id: "w1", text: "taken" })
      work.afterCommit(() => void ran.push("hook"))
    })
    expect(await refused.catch((error: { code: string }) => error.code)).to.equal("already_exists")
    expect(await bench.store.open(Notes, orgA.id).get("w2")).to.equal(undefined)
    expect(ran).to.deep.equal([])
  })

  it("that stages nothing commits nothing, and returns what it made", async () => {
    expect(await bench.works.run(() => 7)).to.equal(7)
  })
})
