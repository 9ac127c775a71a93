import { expect } from "chai"
import { BoundedLog, createLog } from "../../core/kernel/log.ts"
import { MovableClock } from "../../core/kernel/movable-clock.ts"

describe("bounded log", () => {
  it("writes one line a kind and interval, and says how many were left out", () => {
    const lines: { msg: string; omitted?: number }[] = []
    const clock = new MovableClock()
    const log = new BoundedLog(createLog("info", { write: (line) => void lines.push(JSON.parse(line) as never) }), clock)
    for (let n = 0; n < 1_000; n++) log.warn("disk", {}, "the disk is full")
    log.error("key", {}, "a secret cannot be opened")
    expect(lines.map(({ msg }) => msg)).to.deep.equal(["the disk is full", "a secret cannot be opened"])
    clock.move(10_000)
    log.warn("disk", {}, "the disk is full")
    expect(lines[2]).to.include({ msg: "the disk is full", omitted: 999 })
    clock.move(10_000)
    log.warn("disk", {}, "the disk is full")
    expect(lines[3]).to.not.have.property("omitted")
  })
})
