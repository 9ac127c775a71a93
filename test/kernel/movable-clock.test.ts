// A movable clock: wall time, measured time and timers agree.
import { expect } from "chai"
import { MovableClock } from "../../core/kernel/movable-clock.ts"

describe("a movable clock", () => {
  it("runs as the system's until it is moved", () => {
    const clock = new MovableClock()
    const began = [Date.now(), performance.now()] as const
    const [now, measured] = [clock.now(), clock.monotonic()]
    expect(now).to.be.within(began[0], Date.now())
    expect(measured).to.be.within(began[1], performance.now())
    clock.move(3_600_000)
    expect(clock.now()).to.be.within(now + 3_600_000, Date.now() + 3_600_000)
    expect(clock.monotonic()).to.be.within(measured + 3_600_000, performance.now() + 3_600_000)
  })

  it("stands where it is set, and goes on from there", () => {
    const clock = new MovableClock()
    clock.set("2026-01-02T03:04:05Z")
    expect(new Date(clock.now()).toISOString()).to.equal("2026-01-02T03:04:05.000Z")
    clock.move(1_000)
    expect(clock.now()).to.equal(Date.parse("2026-01-02T03:04:06Z"))
    const began = Date.now()
    clock.run()
    const now = clock.now()
    expect(now - Date.parse("2026-01-02T03:04:06Z")).to.be.within(0, Date.now() - began)
    expect(() => clock.set("soon")).to.throw(RangeError, /"soon" is not a time/)
  })

  it("runs the timers that a move passes, in their order, once, and no others", () => {
    const clock = new MovableClock()
    const ran: string[] = []
    const hours = 3_600_000
    clock.after(2 * hours, () => ran.push("late"))
    clock.after(1 * hours, () => ran.push("early"))
    const cancel = clock.after(1.5 * hours, () => ran.push("cancelled"))
    const far = clock.after(60 * hours, () => ran.push("far"))
    cancel()
    clock.move(0.5 * hours)
    expect(ran).to.deep.equal([])
    clock.move(2 * hours)
    clock.move(1 * hours)
    expect(ran).to.deep.equal(["early", "late"])
    far()
  })

  it("runs a timer by itself when its time comes", (callback) => {
    new MovableClock().after(5, callback)
    setTimeout(() => {}, 20)
  })
})
