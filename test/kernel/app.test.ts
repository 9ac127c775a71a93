// Life cycle of services: started in order, stopped in reverse, and never left partly started.
import { expect } from "chai"
import { App } from "../../core/kernel/app.ts"
import { Container, token } from "../../core/kernel/di.ts"
import { createLog } from "../../core/kernel/log.ts"
import { failureOf } from "../refusal.ts"
import { until } from "../waiting.ts"

type Step = () => Promise<void> | void

function appOf(services: Record<string, { start?: Step; stop?: Step }>) {
  const container = new Container()
  const received: string[] = []
  const logged: string[] = []
  for (const [name, { start, stop }] of Object.entries(services)) {
    container.provide(token(name), {
      create: () => name,
      async start() {
        received.push(`start ${name}`)
        await start?.()
      },
      async stop() {
        received.push(`stop ${name}`)
        await stop?.()
      },
    })
  }
  container.everything()
  return { app: new App(container, createLog("info", { write: (line) => void logged.push(line) })), seen: received, logged }
}

const fail = (message: string) => () => {
  throw new Error(message)
}

describe("app", () => {
  it("starts in the order of making, one after the other, and stops backwards", async () => {
    const { app, seen: received } = appOf({ a: { start: () => new Promise((resolve) => setImmediate(resolve)) }, b: {}, c: {} })
    await app.start()
    await app.stop()
    expect(received).to.deep.equal(["start a", "start b", "start c", "stop c", "stop b", "stop a"])
  })

  it("stops what had started, the failing one included, when a start fails, and says why", async () => {
    const { app, seen: received } = appOf({ a: {}, b: { start: fail("no port") }, c: {} })
    expect((await failureOf(app.start())).message).to.equal("no port")
    expect(received).to.deep.equal(["start a", "start b", "stop b", "stop a"])
  })

  it("stops the others when one cannot be stopped, and logs which", async () => {
    const { app, seen: received, logged } = appOf({ a: {}, b: { stop: fail("stuck") }, c: {} })
    await app.start()
    await app.stop()
    expect(received.slice(3)).to.deep.equal(["stop c", "stop b", "stop a"])
    expect(logged).to.have.length(1)
    expect(logged[0]).to.include('"service":"b"').and.include("stuck")
  })

  it("stops once however often it is asked, and stops nothing that never started", async () => {
    const { app, seen: received } = appOf({ a: {} })
    await Promise.all([app.stop(), app.stop()])
    await app.start()
    expect(received).to.deep.equal([])
    const started = appOf({ a: {} })
    await started.app.start()
    await Promise.all([started.app.stop(), started.app.stop()])
    expect(started.seen).to.deep.equal(["start a", "stop a"])
  })

  it("asked to stop while starting, lets the one in progress finish, begins no other, and stops backwards", async () => {
    let finish: () => void = () => undefined
    const under = new Promise<void>((resolve) => {
      finish = resolve
    })
    const { app, seen: received } = appOf({ a: {}, b: { start: () => under }, c: {} })
    const starting = app.start()
    await until("the start of b", () => received.includes("start b"))
    const stopping = app.stop()
    expect(received).to.not.include("stop b")
    finish()
    await Promise.all([starting, stopping])
    expect(received).to.deep.equal(["start a", "start b", "stop b", "stop a"])
  })
})
