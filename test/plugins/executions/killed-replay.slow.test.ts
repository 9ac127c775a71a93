// A service killed during a replay plan. The next service continues it and replays no event twice.
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { expect } from "chai"
import { apiOf, freshFolder, type ServiceProcess, startService } from "../../crash/service-process.ts"
import { untilProcess as until } from "../../waiting.ts"

interface Plan {
  readonly id: string
  readonly state: string
  readonly replayed: { readonly accepted: number; readonly rejected: number; readonly failed: number; readonly skipped: number }
}
interface Replayed {
  readonly execution_id: string
  readonly replay_id: string
  readonly replay_status: string
}

const events = 50
/** Between two commits of the plan. */
const killedAt = 33

describe("a replay plan", () => {
  it("goes on after a kill, and does nothing twice", async () => {
    const folder = freshFolder()
    const calls: { path: string | undefined; n: number; key: string }[] = []
    let isDead = false
    let isHeld = false
    const peer = createServer((request, response) => {
      request.setEncoding("utf8")
      let text = ""
      request.on("data", (chunk: string) => {
        text += chunk
      })
      request.on("end", () => {
        calls.push({ path: request.url, n: (JSON.parse(text) as { n: number }).n, key: String(request.headers["idempotency-key"]) })
        if (!isDead && calls.length === events + killedAt) isHeld = true
        else response.writeHead(200, { "content-type": "application/json" }).end("{}")
      })
    })
    await new Promise<void>((resolve) => peer.listen(0, "127.0.0.1", resolve))
    const host = `127.0.0.1:${(peer.address() as AddressInfo).port}`
    const options = { dataDir: folder.path, env: { MILLRACE_OUTGOING_ALLOW_HOSTS: host } }
    const started: ServiceProcess[] = []
    try {
      const first = await startService(options)
      started.push(first)
      const api = apiOf(first, folder.path)
      const call = (id: string) => ({ id, type: "http.request", await: true, url: `http://${host}/${id}`, body: { n: "{{ event.n }}" } })
      const line = { id: "line", type: "dataset.write", dataset_slug: "lines", row: { n: "{{ event.n }}" } }
      const orders = { name: "Orders", state: "active", source_kind: "internal", pipeline: [call("tell"), line] }
      await api("POST", "/v1/event-pipelines", orders)
      for (let n = 0; n < events; n++) await api("POST", "/v1/event-pipelines/orders/events", { payload: { n } })
      // Finished calls do not repeat; new calls run.
      await api("PUT", "/v1/event-pipelines/orders", { pipeline: [call("tell"), call("more"), line] })
      const { id } = await api<Plan>("POST", "/v1/replay-plans", { pipeline: "orders" })
      await until("the rehearsal", async () => (await api<Plan>("GET", `/v1/replay-plans/${id}`)).state === "rehearsed")
      expect(calls).to.have.length(events)
      await api("POST", `/v1/replay-plans/${id}/start`)
      await until("a replay being in the midst of its call", () => isHeld)
      await first.kill()
      isDead = true

      const second = await startService(options)
      started.push(second)
      const resumed = apiOf(second, folder.path)
      const plan = await until("the plan being done", async () => {
        const read = await resumed<Plan>("GET", `/v1/replay-plans/${id}`)
        return read.state === "completed" && read
      })
      expect(plan.replayed).to.deep.equal({ accepted: events, rejected: 0, failed: 0, skipped: 0 })
      const { executions } = await resumed<{ executions: { id: string; replay_of: string | null; status: string }[] }>(
        "GET",
        "/v1/event-pipelines/orders/executions?limit=200",
      )
      const replays = executions.filter(({ replay_of }) => replay_of !== null)
      const originals = executions.filter(({ replay_of }) => replay_of === null).map((execution) => execution.id)
      expect(originals).to.have.length(events)
      expect(replays.map(({ replay_of }) => replay_of)).to.have.members(originals)
      const page = await resumed<{ events: Replayed[] }>("GET", `/v1/replay-plans/${id}/events?limit=200`)
      expect(page.events.map(({ replay_id }) => replay_id)).to.have.members(replays.map((replay) => replay.id))
      const { rows } = await resumed<{ rows: unknown[] }>("GET", "/v1/datasets/lines/rows?limit=200")
      expect(rows).to.have.length(events)
      const of = (path: string) => calls.filter((item) => item.path === path)
      expect(of("/tell")).to.have.length(events)
      // The held call is made once more, under its key.
      expect(of("/more")).to.have.length(events + 1)
      for (const path of ["/tell", "/more"]) {
        expect(new Set(of(path).map(({ key }) => key)).size, path).to.equal(events)
        expect(new Set(of(path).map(({ n }) => n)).size, path).to.equal(events)
      }
    } finally {
      for (const service of started) await service.kill()
      peer.closeAllConnections()
      peer.close()
      folder.remove()
    }
  })
})
