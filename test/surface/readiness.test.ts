// GET /readyz of a service that is not ready: load balancers stop using the node.
import { once } from "node:events"
import { connect } from "node:net"
import { expect } from "chai"
import { testHost } from "#core/testing"
import type { CollectionSpec, Document } from "../../core/contract/collection.ts"
import { type Collection, Store } from "../../core/contract/store.ts"
import { MovableClock } from "../../core/kernel/movable-clock.ts"
import { failureOf } from "../refusal.ts"
import { until } from "../waiting.ts"
import { openSurfaceBench } from "./surface-bench.ts"

describe("readiness", () => {
  it("is 503 storage_timeout while storage does not answer, and 200 again when it does", async () => {
    const host = await testHost()
    try {
      const store = host.get(Store)
      const ready = store.ready.bind(store)
      const request = new Promise<void>((resolve) => {
        store.ready = () => {
          resolve()
          return new Promise(() => {})
        }
      })
      const slow = fetch(`${host.url}/readyz`)
      await request
      host.clock.move(2_000)
      const answer = await slow
      const body = (await answer.json()) as Record<string, unknown>
      expect([answer.status, body["code"], body["details"]]).to.deep.equal([503, "unavailable", { reason: "storage_timeout" }])
      expect((await fetch(`${host.url}/healthz`)).status, "alive all the same").to.equal(200)
      store.ready = ready
      // The clock may have moved during a commit of the service itself.
      const again = await until("storage answering in time", async () => {
        const looked = await fetch(`${host.url}/readyz`)
        return looked.status === 200 && looked.json()
      })
      expect(again).to.deep.equal({ status: "ready" })
    } finally {
      await host.stop()
    }
  })

  it("is 503 draining on a connection that is still served while the service stops", async () => {
    const bench = await openSurfaceBench()
    let release = () => {}
    bench.stage.gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const entered = new Promise<void>((resolve) => {
      bench.stage.entered = resolve
    })
    const { hostname, port } = new URL(bench.url)
    const socket = connect(Number(port), hostname)
    let message = ""
    socket.setEncoding("utf8").on("data", (text: string) => {
      message += text
    })
    const body = JSON.stringify({ id: "late", text: "but whole" })
    const head = "Host: x\r\nAuthorization: Bearer a-member\r\nContent-Type: application/json"
    // In one write: a request after the previous answer would find the connection closed.
    socket.write(
      `POST /v1/notes HTTP/1.1\r\n${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    )
    await entered
    const stopped = bench.close()
    release()
    await once(socket, "close")
    await stopped
    const statuses = [...message.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
    expect(statuses).to.deep.equal(["201", "503"])
    expect(message).to.include('"reason":"draining"')
  })

  it("is 503 draining before the port closes, while calls are still answered", async () => {
    const clock = new MovableClock()
    const bench = await openSurfaceBench({ leaveMs: 600_000, serverClock: clock })
    const stopping = bench.server.stop()
    for (let look = 0; look < 2; look++) {
      const ready = await fetch(`${bench.url}/readyz`)
      const body = (await ready.json()) as { details: object }
      expect([ready.status, body.details]).to.deep.equal([503, { reason: "draining" }])
      expect((await fetch(`${bench.url}/v1/notes/a`, { headers: { authorization: "Bearer a-member" } })).status).to.be.lessThan(500)
    }
    clock.move(600_000)
    await stopping
    expect((await failureOf(fetch(`${bench.url}/readyz`))).message).to.equal("fetch failed")
    await bench.close()
  })
})

describe("metrics during an outage of storage", () => {
  it("are answered without the figures of the store, and say so", async () => {
    const host = await testHost()
    try {
      const metric = (text: string, name: string) => new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "m").exec(text)?.[1]
      const scrape = async () => (await fetch(`${host.url}/metrics`)).text()
      const before = await scrape()
      const names = ["millrace_metrics_from_store", "millrace_nodes", "millrace_node_info"].map((name) => metric(before, name))
      expect(names).to.deep.equal(["1", "1", "1"])
      expect(before).to.match(/^millrace_node_info\{node="[0-9a-f-]{36}"\} 1$/m)
      const store = host.get(Store)
      const open = store.open.bind(store) as (spec: CollectionSpec, organization?: string) => Collection<Document>
      const requests: (() => void)[] = []
      const hangs = () => {
        for (const respond of requests.splice(0)) respond()
        return new Promise<never>(() => {})
      }
      // A server that receives a scrape's reads without answering.
      const ofScrape = 500
      store.open = ((spec: CollectionSpec, organization?: string) => {
        const real = open(spec, organization)
        if (spec.name !== "jobs") return real
        return {
          get: real.get.bind(real),
          find: real.find.bind(real),
          stream: real.stream.bind(real),
          first: (filter, options) => (options?.deadlineMs === ofScrape ? hangs() : real.first(filter, options)),
          count: (filter, options) => (options?.deadlineMs === ofScrape ? hangs() : real.count(filter, options)),
        } satisfies Collection<Document>
      }) as Store["open"]
      for (let times = 0; times < 2; times++) {
        const observed = new Promise<void>((resolve) => requests.push(resolve))
        const slow = scrape()
        if (times === 0) await observed
        await new Promise(setImmediate)
        host.clock.move(500)
        const during = await slow
        expect([metric(during, "millrace_metrics_from_store"), metric(during, "millrace_jobs")]).to.deep.equal(["0", undefined])
        expect(metric(during, "millrace_events_in_flight")).to.equal("0")
      }
    } finally {
      await host.stop()
    }
  })
})
