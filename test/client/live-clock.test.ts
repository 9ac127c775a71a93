// A live subscriber reconnects after the service restarted with an earlier clock.
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { Live, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { connectLive } from "../../client/live.ts"
import { MovableClock } from "../../core/kernel/movable-clock.ts"
import { until } from "../waiting.ts"

const hourMs = 3_600_000

describe("live subscribers after a start with an earlier clock", () => {
  let dataDir: string
  let host: TestHost
  let clock: MovableClock
  const start = async (at: number) => {
    clock = new MovableClock()
    clock.set(at)
    host = await testHost({ dataDir, clock })
  }
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "millrace-live-clock-"))
  })
  after(async () => {
    await host.stop()
    await rm(dataDir, { recursive: true })
  })

  const say = (n: number) =>
    host
      .get(UnitsOfWork)
      .run((work) => void host.get(Live).stage(work, host.organization.id, { channel: "news", event: "said", data: { n } }))
  /** Subscribes after a position. Resolves with the messages up to `n` and the subscription's position. */
  const heardUpTo = async (n: number, after: string, tell?: () => Promise<unknown>) => {
    const live = connectLive<{ news: { n: number } }>({ url: host.url, token: host.adminKey, reconnectMs: 1 })
    const messages: number[] = []
    let gaps = 0
    const options = { onGap: () => void gaps++, ...(after === "" ? {} : { after }) }
    const subscription = live.subscribe("news", ({ data }) => void messages.push(data.n), options)
    await subscription.ready
    await tell?.()
    await until(`the message ${n}`, () => messages.includes(n) || gaps > 0)
    const position = subscription.position()
    live.close()
    return { heard: messages, gaps, position }
  }

  it("hear what was said meanwhile or learn of a gap, before and after the clock has caught up", async () => {
    const now = Date.now()
    await start(now)
    const first = await heardUpTo(1, "", () => say(1))
    expect(first).to.include({ gaps: 0 })
    await host.stop()
    await start(now - hourMs)
    await say(2)
    const second = await heardUpTo(2, first.position)
    expect(second.heard.includes(2) || second.gaps > 0).to.equal(true)
    expect(second.gaps).to.equal(1)
    await say(3)
    clock.set(now + hourMs)
    // The position belongs to a time that has passed twice.
    const third = await heardUpTo(3, first.position)
    expect(third.gaps).to.equal(1)
    const last = await heardUpTo(4, "", () => say(4))
    const after = await heardUpTo(5, last.position, () => say(5))
    expect(after).to.deep.include({ heard: [5], gaps: 0 })
  })
})
