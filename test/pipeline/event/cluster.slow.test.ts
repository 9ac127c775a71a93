// Two nodes on one store: a node honours the other's promises, live messages reach the sockets of both, and a live node resumes
// work of a dead one.
import { createHmac } from "node:crypto"
import { expect } from "chai"
import { io, type Socket } from "socket.io-client"
import { Store } from "#core"
import type { TestHost } from "#core/testing"
import type { Write } from "../../../core/contract/store.ts"
import { JobCollection, type JobDocument } from "../../../core/jobs/jobs-collection.ts"
import { mongoStartable, startSet } from "../../mongodb-server.ts"
import { untilProcess as until } from "../../waiting.ts"
import { Bench, post } from "../bench.ts"
import { outsideWorld } from "../outside-world.ts"
import { onMongo } from "../stores.ts"

/** Longer than any pause of the machine; tests expire leases explicitly. */
const leaseMs = 600_000

onMongo("two nodes", ({ start, storage }) => {
  const world = outsideWorld()
  const sockets: Socket[] = []
  let firstHost: TestHost
  let two: TestHost
  let bench: Bench
  before(async () => {
    const env = { ...(await storage()), MILLRACE_JOBS_POLL_MS: "50", MILLRACE_JOBS_LEASE_MS: String(leaseMs) }
    firstHost = await start({ env, plugins: [world.plugin] })
    two = await start({ env, plugins: [world.plugin], dataDir: firstHost.dataDir })
    bench = new Bench(firstHost)
  })
  after(() => {
    for (const socket of sockets) socket.close()
  })
  const onTwo = (url: string) => url.replace(firstHost.url, two.url)

  it("end a rotated secret on both before the answer", async () => {
    const pipeline = await bench.make({ name: "Shared", auth_mode: "hmac_sha256" })
    const send = (url: string, secret: string) =>
      post(url, "{}", { "x-signature-256": `sha256=${createHmac("sha256", secret).update("{}").digest("hex")}` })
    let secret = pipeline.secret ?? ""
    expect([(await send(pipeline.inbound_url, secret)).status, (await send(onTwo(pipeline.inbound_url), secret)).status]).to.deep.equal([
      200, 200,
    ])
    for (let round = 0; round < 5; round++) {
      const { status, body } = await firstHost.api<{ secret: string }>("POST", "/v1/event-pipelines/shared/rotate-secret", {})
      expect(status).to.equal(200)
      expect([(await send(onTwo(pipeline.inbound_url), secret)).status, (await send(pipeline.inbound_url, secret)).status]).to.deep.equal([
        401, 401,
      ])
      secret = body.secret
      expect((await send(onTwo(pipeline.inbound_url), secret)).status).to.equal(200)
    }
    await firstHost.api("PUT", "/v1/event-pipelines/shared", { state: "disabled" })
    expect((await send(onTwo(pipeline.inbound_url), secret)).status).to.equal(404)
  })

  it("tell the sockets of both, each message once", async () => {
    const pipeline = await bench.make({
      name: "Told",
      pipeline: [{ type: "live.broadcast", channel: "told", data: { n: "{{ event.n }}" } }],
    })
    const messages: [string, number][] = []
    for (const [name, host] of Object.entries({ one: firstHost, two })) {
      const socket = io(host.url, { path: "/live", auth: { token: firstHost.adminKey }, transports: ["websocket"] })
      sockets.push(socket)
      socket.on("message", ({ data }: { data: { n: number } }) => messages.push([name, data.n]))
      await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("connect_error", reject))
      expect(await socket.emitWithAck("subscribe", { channel: "told" })).to.deep.equal({ ok: true })
    }
    for (let n = 0; n < 6; n++) await post(n % 2 === 0 ? pipeline.inbound_url : onTwo(pipeline.inbound_url), { n })
    await until(() => messages.length >= 12)
    for (const name of ["one", "two"])
      expect(
        messages
          .filter(([node]) => node === name)
          .map(([, n]) => n)
          .sort(),
      ).to.deep.equal([0, 1, 2, 3, 4, 5])
    expect(messages).to.have.length(12)
  })

  it("do once what was approved, though admins decide on both at once", async () => {
    world.answer = () => ({})
    const pipeline = await bench.make({ name: "Gated", pipeline: [{ id: "act", type: "world.act", gate: true, says: "{{ event.n }}" }] })
    const { body } = await post(pipeline.inbound_url, { n: 3 })
    const waits = await bench.entryWhen("gated", body.execution_id, ({ steps }) => steps["act"]?.approval_id !== undefined)
    const path = `/v1/approvals/${waits.steps["act"]?.approval_id}`
    const { secret: key } = (await firstHost.api<{ secret: string }>("POST", "/v1/api-keys", { name: "second", role: "admin" })).body
    const decisions = [firstHost, two, firstHost, two].map((node) => node.api("POST", `${path}/decide`, { decision: "approve" }, { key }))
    const statuses = (await Promise.all(decisions)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).to.have.length(1)
    await bench.entryWhen("gated", body.execution_id, ({ steps }) => steps["act"]?.state === "done")
    const { receipt, state } = (await two.api<{ state: string; receipt: { ok: boolean } | null }>("GET", path)).body
    expect([state, receipt?.ok]).to.deep.equal(["done", true])
    expect(world.acts.splice(0).map(({ says }) => says)).to.deep.equal([3])
  })

  it("take up the work of one that holds it no longer, once its lease is over, with the same key", async () => {
    world.answer = () => ({})
    const pipeline = await bench.make({ name: "Taken up", pipeline: [{ id: "act", type: "world.act", says: "{{ event.n }}" }] })
    // The state after a node was killed behind its commit: held by a dead node.
    const store = firstHost.get(Store)
    const real = store.commit.bind(store)
    // Only this event's job: jobs of other areas commit normally.
    const isItsJob = (write: Write) => write.kind === "insert" && (write.doc as Partial<JobDocument>).type === "pipeline.deferred"
    store.commit = async (commit) => {
      const isIts = commit.writes.some(isItsJob)
      const result = await real({ ...commit, writes: commit.writes.map((write) => (isItsJob(write) ? heldElsewhere(write) : write)) })
      return isIts ? new Promise(() => {}) : result
    }
    const lost = post(pipeline.inbound_url, { n: 9 }).catch(() => undefined)
    const lockedCount = () => two.get(Store).open(JobCollection).count({ held_by: "a-dead-node" })
    await until(async () => (await lockedCount()) === 1)
    store.commit = real
    two.clock.move(leaseMs / 2)
    const jobs = two.get(Store)
    const opened = jobs.open.bind(jobs)
    let looks = 0
    jobs.open = ((...args: Parameters<Store["open"]>) => {
      if (args[0] === JobCollection) looks++
      return opened(...args)
    }) as Store["open"]
    await until("several looks for due jobs", () => looks > 8)
    jobs.open = opened
    expect([await lockedCount(), world.acts.length]).to.deep.equal([1, 0])
    two.clock.move(leaseMs)
    await until(() => world.acts.length === 1)
    const [entry] = await bench.entries("taken-up")
    const finalEntry = await bench.entryWhen("taken-up", entry?.id ?? "", ({ steps }) => steps["act"]?.state === "done")
    expect(finalEntry.status).to.equal("accepted")
    await until(async () => (await two.get(Store).open(JobCollection).count({ type: "pipeline.deferred" })) === 0)
    expect(world.acts.splice(0)).to.have.length(1)
    void lost
  })
})

function heldElsewhere(write: Write): Write {
  return write.kind === "insert" ? { ...write, doc: { ...write.doc, ...{ held_by: "a-dead-node" } } } : write
}

const withSet = mongoStartable ? describe : describe.skip
withSet("two nodes on three members (mongodb)", () => {
  it("lose and double nothing that was acknowledged while the primary is killed", async () => {
    const { testHost } = await import("#core/testing")
    const set = await startSet(3)
    const hosts: TestHost[] = []
    try {
      const env = { MILLRACE_STORAGE_URL: set.freshUrl() }
      const host = await testHost({ env })
      hosts.push(host)
      const two = await testHost({ env, dataDir: host.dataDir })
      hosts.push(two)
      const bench = new Bench(host)
      const pipeline = await bench.make({
        name: "Surviving",
        pipeline: [
          { id: "each", type: "dataset.write", dataset_slug: "each", row: { n: "{{ event.n }}" } },
          { id: "newest", type: "dataset.write", dataset_slug: "newest", key: "k", row: { k: "{{ event.k }}", n: "{{ event.n }}" } },
        ],
      })
      const urls = [pipeline.inbound_url, pipeline.inbound_url.replace(host.url, two.url)]
      const acknowledged = new Map<number, string>()
      let next = 0
      let over = false
      const sender = async () => {
        while (!over) {
          const n = next++
          const answer = await post(urls[n % 2] ?? "", { n, k: n % 7 })
          if (answer.status === 200) acknowledged.set(n, answer.body.execution_id)
          else expect([503, answer.headers.get("retry-after")]).to.deep.equal([answer.status, "1"])
        }
      }
      const senders = Array.from({ length: 8 }, sender)
      await until(() => acknowledged.size > 100)
      await set.killPrimary()
      const atDeath = acknowledged.size
      await until(() => acknowledged.size > atDeath + 100)
      over = true
      await Promise.all(senders)

      const entries = new Map<string, string>()
      const rows = new Map<number, number>()
      const messages: { position: string; n: number; k: number }[] = []
      let cursor = ""
      do {
        const { body } = await host.api<{
          executions: { id: string; status: string; received_at: string; payload_preview: string }[]
          next_cursor: string
        }>("GET", `/v1/event-pipelines/surviving/executions?limit=200&cursor=${encodeURIComponent(cursor)}`)
        for (const { id, status, received_at, payload_preview } of body.executions) {
          if (status === "accepted")
            messages.push({ position: `${received_at} ${id}`, ...(JSON.parse(payload_preview) as { n: number; k: number }) })
          expect(entries.has(id)).to.equal(false)
          entries.set(id, status)
        }
        cursor = body.next_cursor
      } while (cursor !== "")
      const exported = await fetch(`${host.url}/v1/datasets/each/export?format=ndjson`, {
        headers: { authorization: `Bearer ${host.adminKey}` },
      })
      const lines = (await exported.text())
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as { n?: number; values?: { n: number } })
      for (const line of lines) {
        const n = line.n ?? line.values?.n ?? -1
        rows.set(n, (rows.get(n) ?? 0) + 1)
      }
      for (const [n, id] of acknowledged) expect([n, entries.get(id), rows.get(n)]).to.deep.equal([n, "accepted", 1])
      expect([...rows.values()].every((count) => count === 1)).to.equal(true)
      expect(rows.size).to.equal([...entries.values()].filter((status) => status === "accepted").length)
      for (const { values } of await bench.rows("newest")) {
        const writers = messages.filter(({ k }) => k === values["k"]).sort((a, b) => (a.position < b.position ? -1 : 1))
        expect(values["n"]).to.equal(writers.at(-1)?.n)
      }
    } finally {
      for (const host of hosts.reverse()) await host.stop()
      await set.stop()
    }
  })
})
