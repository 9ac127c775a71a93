// GET /readyz where the service is not ready: load balancers stop sending to a node by it.
import { once } from "node:events"
import { connect } from "node:net"
import { expect } from "chai"
import { testHost } from "#core/testing"
import { Store } from "../../core/contract/store.ts"
import { until } from "../waiting.ts"
import { openSurfaceBench } from "./surface-bench.ts"

describe("readiness", () => {
  it("is 503 storage_timeout while storage does not answer, and 200 again when it does", async () => {
    const host = await testHost()
    try {
      const store = host.get(Store)
      const ready = store.ready.bind(store)
      const asked = new Promise<void>((resolve) => {
        store.ready = () => {
          resolve()
          return new Promise(() => {})
        }
      })
      const slow = fetch(`${host.url}/readyz`)
      await asked
      host.clock.move(2_000)
      const answer = await slow
      const body = (await answer.json()) as Record<string, unknown>
      expect([answer.status, body["code"], body["details"]]).to.deep.equal([503, "unavailable", { reason: "storage_timeout" }])
      expect((await fetch(`${host.url}/healthz`)).status, "alive all the same").to.equal(200)
      store.ready = ready
      // Time was moved over a commit, perhaps, that the service made for itself.
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
    let said = ""
    socket.setEncoding("utf8").on("data", (text: string) => {
      said += text
    })
    const body = JSON.stringify({ id: "late", text: "but whole" })
    const head = "Host: x\r\nAuthorization: Bearer a-member\r\nContent-Type: application/json"
    // In one go: a request that comes after the answer to the one before finds the connection closed.
    socket.write(
      `POST /v1/notes HTTP/1.1\r\n${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    )
    await entered
    const stopped = bench.close()
    release()
    await once(socket, "close")
    await stopped
    const statuses = [...said.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
    expect(statuses).to.deep.equal(["201", "503"])
    expect(said).to.include('"reason":"draining"')
  })
})
