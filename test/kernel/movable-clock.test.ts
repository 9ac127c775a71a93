// A clock that is moved: wall time, measured time and timers agree.
import { expect } from "chai"
import { MovableClock } from "../../core/kernel/movable-clock.ts"

describe("a movable clock", () => {
  it("runs as the system's until it is moved", () => {
    const clock = new MovableClock()
    expect(Math.abs(clock.now() - Date.now())).to.be.below(50)
    const [now, measured] = [clock.now(), clock.monotonic()]
    clock.move(3_600_000)
    expect(clock.now() - now).to.be.within(3_600_000, 3_600_100)
    expect(clock.monotonic() - measured).to.be.within(3_600_000, 3_600_100)
  })

  it("stands where it is set, and goes on from there", () => {
    const clock = new MovableClock()
    clock.set("2026-01-02T03:04:05Z")
    expect(new Date(clock.now()).toISOString()).to.equal("2026-01-02T03:04:05.000Z")
    clock.move(1_000)
    expect(clock.now()).to.equal(Date.parse("2026-01-02T03:04:06Z"))
    clock.run()
    expect(clock.now()).to.be.within(Date.parse("2026-01-02T03:04:06Z"), Date.parse("2026-01-02T03:04:07Z"))
    expect(() => clock.set("soon")).to.throw(RangeError, /"soon" is no time/)
  })

  it("runs the timers that a move passes, in their order, once, and no others", () => {
    const clock = new MovableClock()
    const ran: string[] = []
    clock.after(2_000, () => ran.push("late"))
    clock.after(1_000, () => ran.push("early"))
    const cancel = clock.after(1_500, () => ran.push("cancelled"))
    const far = clock.after(60_000, () => ran.push("far"))
    cancel()
    clock.move(500)
    expect(ran).to.deep.equal([])
    clock.move(2_000)
    clock.move(1_000)
    expect(ran).to.deep.equal(["early", "late"])
    far()
  })

  it("runs a timer by itself when its time comes", (done) => {
    new MovableClock().after(5, done)
    setTimeout(() => {}, 20)
  })
})
