// Two workers on one port and one MongoDB, as real processes. The promises of one worker hold on the other.
import { createHmac } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { io, type Socket } from "socket.io-client"
import { checkBooks, jobsSettled } from "../crash/books.ts"
import { type Peer, startPeer } from "../crash/peer.ts"
import { makePipeline, shelves } from "../crash/rounds.ts"
import { eventBody, Sender } from "../crash/sender.ts"
import { type Api, apiOf, freshFolder, startService } from "../crash/service-process.ts"
import { acknowledged } from "../crash/under-load.ts"
import { lendDatabaseToFile, mongoAvailable } from "../mongodb-server.ts"
import { untilProcess as until } from "../waiting.ts"
import { patient, type WorkerClient, workerClient } from "./worker-sockets.ts"

const onMongo = mongoAvailable ? describe : describe.skip

onMongo("two workers (mongodb)", () => {
  let folder: ReturnType<typeof freshFolder>
  const sockets: Socket[] = []
  let peer: Peer
  let url = ""
  let stop = async () => {}
  let api: Api
  let clients: readonly [WorkerClient, WorkerClient]
  let key: string

  before(async function () {
    this.timeout(900_000)
    folder = freshFolder()
    peer = await startPeer()
    const env = {
      MILLRACE_WORKERS: "2",
      MILLRACE_OUTGOING_ALLOW_HOSTS: peer.host,
      MILLRACE_STORAGE_URL: await lendDatabaseToFile(),
    }
    const service = await startService({ dataDir: folder.path, env })
    stop = service.kill
    url = service.url
    api = apiOf(service, folder.path)
    await until(async () => /^millrace_workers 2$/m.test(await (await fetch(`${url}/metrics`)).text()))
    clients = [patient(workerClient(service.pid, 1)), patient(workerClient(service.pid, 2))]
    key = (JSON.parse(readFileSync(join(folder.path, "bootstrap.json"), "utf8")) as { admin_key: string }).admin_key
  })
  after(async () => {
    for (const socket of sockets) socket.close()
    await stop()
    await peer.stop()
    folder.remove()
  })

  const bearer = (token = key) => ({ authorization: `Bearer ${token}` })
  const pathOf = (url: string) => new URL(url).pathname

  it("take events on both, with an entry, a row and a call for each, and a scrape of either tells of both", async () => {
    const { endpoint_id, secret } = await makePipeline(api, peer.url)
    const sender = new Sender({ url: `${url}/v1/inbound/${endpoint_id}`, secret, connections: 32, from: 1 })
    sender.start()
    await acknowledged(sender, 300)
    await sender.stop()
    const messages = new Map(sender.acknowledged)
    for (let n = sender.next; n < sender.next + 20; n++) {
      const body = eventBody(n)
      const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`
      const answer = await clients[(n % 2) as 0 | 1]("POST", `/v1/inbound/${endpoint_id}`, body, { "x-signature-256": signature })
      expect(answer.status).to.equal(200)
      messages.set(n, (JSON.parse(answer.text) as { execution_id: string }).execution_id)
    }
    expect(await jobsSettled(api)).to.deep.equal([])
    const { problems, entries } = await checkBooks(
      api,
      shelves,
      { acknowledged: messages, unanswered: new Set(), refused: sender.refused },
      peer,
    )
    expect(problems).to.deep.equal([])
    expect(entries).to.equal(messages.size)
    for (const client of clients) {
      // A scrape omits a worker with a late answer.
      const text = await until("a scrape that both have a part in", async () => {
        const scraped = (await client("GET", "/metrics")).text
        return eventsIn(scraped) >= messages.size && scraped
      })
      expect(eventsIn(text)).to.equal(messages.size)
      expect(text).to.match(/^millrace_workers 2$/m)
    }
  })

  it("are both reached through the port, and a live session by polling holds though its requests are spread", async () => {
    const visited = new Set<string>()
    for (let tries = 0; tries < 60 && visited.size < 2; tries++) {
      const answer = await fetch(`${url}/live/?EIO=4&transport=polling`, { headers: { connection: "close" } })
      visited.add(/"sid":"(w\d+)-/.exec(await answer.text())?.[1] ?? "none")
    }
    expect([...visited].sort()).to.deep.equal(["w1", "w2"])
    const messages: { n: number }[] = []
    const socket = io(url, { path: "/live", auth: { token: key }, transports: ["polling"], forceNew: true })
    sockets.push(socket)
    socket.on("message", ({ data }: { data: { n: number } }) => messages.push(data))
    let lost = 0
    socket.on("disconnect", () => lost++)
    await connected(socket)
    expect(await socket.emitWithAck("subscribe", { channel: "polled" })).to.deep.equal({ ok: true })
    const pipeline = await api<{ inbound_url: string }>("POST", "/v1/event-pipelines", broadcaster("Polled", "polled"))
    for (let n = 0; n < 10; n++) await clients[(n % 2) as 0 | 1]("POST", pathOf(pipeline.inbound_url), { n })
    await until(() => messages.length >= 10)
    // Through MongoDB, messages of the other worker take longer and may be overtaken. Messages of one worker stay in order.
    const inOrder = [0, 1].flatMap((client) => messages.filter(({ n }) => n % 2 === client))
    const requests = Array.from({ length: 10 }, (_, n) => ({ n }))
    expect(inOrder).to.deep.equal([...requests.filter(({ n }) => n % 2 === 0), ...requests.filter(({ n }) => n % 2 === 1)])
    expect(lost).to.equal(0)
  })

  it("tell the sockets of both of what either commits, each message once", async () => {
    const pipeline = await api<{ inbound_url: string }>("POST", "/v1/event-pipelines", broadcaster("Told", "told"))
    const message: Record<string, number[]> = { w1: [], w2: [] }
    for (const slot of ["w1", "w2"]) {
      const socket = await socketOn(slot)
      socket.on("message", ({ data }: { data: { n: number } }) => message[slot]?.push(data.n))
      expect(await socket.emitWithAck("subscribe", { channel: "told" })).to.deep.equal({ ok: true })
    }
    for (let n = 0; n < 20; n++) expect((await clients[(n % 2) as 0 | 1]("POST", pathOf(pipeline.inbound_url), { n })).status).to.equal(200)
    await until(() => Object.values(message).every((list) => list.length >= 20))
    for (const list of Object.values(message))
      expect([...list].sort((a, b) => a - b)).to.deep.equal(Array.from({ length: 20 }, (_, n) => n))
  })

  it("let no event pass under a secret, a document or a key that the other has ended", async () => {
    const createdPipeline = await api<{ inbound_url: string; secret: string }>("POST", "/v1/event-pipelines", {
      name: "Turned",
      state: "active",
      auth_mode: "hmac_sha256",
      pipeline: [{ type: "respond", body: { says: "first" } }],
    })
    const path = pathOf(createdPipeline.inbound_url)
    const send = async (client: WorkerClient, secret: string) => {
      const signature = `sha256=${createHmac("sha256", secret).update("{}").digest("hex")}`
      const { status, text } = await client("POST", path, "{}", { "x-signature-256": signature })
      return [status, text] as const
    }
    let { secret } = createdPipeline
    for (let round = 0; round < 4; round++) {
      const [changing, other] = round % 2 === 0 ? clients : [clients[1], clients[0]]
      expect((await send(other, secret))[0]).to.equal(200)
      const rotated = await changing("POST", "/v1/event-pipelines/turned/rotate-secret", {}, bearer())
      expect(rotated.status).to.equal(200)
      expect((await send(other, secret))[0]).to.equal(401)
      secret = (JSON.parse(rotated.text) as { secret: string }).secret
      const pipeline = [{ type: "respond", body: { says: `round ${round}` } }]
      expect((await changing("PUT", "/v1/event-pipelines/turned", { pipeline }, bearer())).status).to.equal(200)
      expect(await send(other, secret)).to.deep.equal([200, JSON.stringify({ says: `round ${round}` })])
    }
    const minted = JSON.parse((await clients[0]("POST", "/v1/api-keys", { name: "Short-lived" }, bearer())).text) as {
      id: string
      secret: string
    }
    expect((await clients[1]("GET", "/v1/datasets", undefined, bearer(minted.secret))).status).to.equal(200)
    expect((await clients[0]("POST", `/v1/api-keys/${minted.id}/revoke`, {}, bearer())).status).to.be.lessThan(300)
    expect((await clients[1]("GET", "/v1/datasets", undefined, bearer(minted.secret))).status).to.equal(401)
  })

  it("take an event once that comes to both, and do a call once that has a key", async () => {
    const pipeline = await api<{ inbound_url: string }>("POST", "/v1/event-pipelines", {
      name: "Deduped",
      state: "active",
      auth_mode: "none",
      dedupe: { key: "{{ payload.id }}", window: "1h" },
      pipeline: [{ type: "dataset.write", dataset_slug: "once", row: { id: "{{ event.id }}" } }],
    })
    for (let n = 0; n < 10; n++) {
      const [first, second] = await Promise.all(clients.map((client) => client("POST", pathOf(pipeline.inbound_url), { id: `event-${n}` })))
      expect([first?.status, second?.status]).to.deep.equal([200, 200])
      expect(first?.text).to.equal(second?.text)
    }
    const { rows } = await api<{ rows: unknown[] }>("GET", "/v1/datasets/once/rows?limit=50")
    expect(rows).to.have.length(10)
    const keyed = { ...bearer(), "idempotency-key": "one-key" }
    const calls = await Promise.all(clients.map((client) => client("POST", "/v1/datasets", { name: "Made once" }, keyed)))
    const statuses = calls.map(({ status }) => status)
    expect(statuses.filter((status) => status < 300).length).to.be.at.least(1)
    expect(statuses.filter((status) => status >= 300 && status !== 409)).to.deep.equal([])
    const { datasets } = await api<{ datasets: { name: string }[] }>("GET", "/v1/datasets")
    expect(datasets.filter(({ name }) => name === "Made once")).to.have.length(1)
  })

  async function socketOn(slot: string): Promise<Socket> {
    for (let tries = 0; tries < 60; tries++) {
      const socket = io(url, {
        path: "/live",
        auth: { token: key },
        transports: ["websocket"],
        forceNew: true,
        reconnection: false,
      })
      await connected(socket)
      if ((socket.io.engine as unknown as { id: string }).id.startsWith(`${slot}-`)) {
        sockets.push(socket)
        return socket
      }
      socket.close()
    }
    throw new Error(`No connection of 60 reached the worker ${slot}.`)
  }
})

function eventsIn(metrics: string): number {
  return Number(/millrace_events_total\{status="accepted",cause="",pipeline="[0-9a-f-]{36}"\} (\d+)/.exec(metrics)?.[1])
}

function broadcaster(name: string, channel: string): object {
  const pipeline = [{ type: "live.broadcast", channel, data: { n: "{{ event.n }}" } }]
  return { name, state: "active", auth_mode: "none", pipeline }
}

function connected(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("connect", resolve)
    socket.once("connect_error", reject)
  })
}
