// Connections with half a request while the service stops, and more connections than descriptors.
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { testHost } from "#core/testing"
import { Bench, post } from "../pipeline/bench.ts"
import { outsideWorld } from "../pipeline/outside-world.ts"
import { until } from "../waiting.ts"
import { call, openSurfaceBench, type SurfaceBench } from "./surface-bench.ts"

interface Wire {
  readonly socket: Socket
  said: string
  closed: boolean
}

function open(url: string, text = ""): Wire {
  const { hostname, port } = new URL(url)
  const wire: Wire = { socket: connect(Number(port), hostname), said: "", closed: false }
  wire.socket.setEncoding("utf8").on("data", (chunk: string) => {
    wire.said += chunk
  })
  wire.socket
    .on("error", () => undefined)
    .on("close", () => {
      wire.closed = true
    })
  wire.socket.write(text)
  return wire
}

const probe = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
const statusOf = ({ said: output }: Wire) => [...output.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))

describe("a stop while clients are in the middle of a request", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-halves-"))
  after(() => rmSync(dataDir, { recursive: true, force: true }))

  it("answers those that send nothing 503, finishes what is in progress, and keeps nothing of the halves", async () => {
    const world = outsideWorld()
    let release = () => {}
    world.answer = () =>
      new Promise((resolve) => {
        release = () => resolve({})
      })
    const env = { MILLRACE_SERVER_DRAIN_MS: "600000" }
    const host = await testHost({ dataDir, plugins: [world.plugin], env })
    const { inbound_url } = await new Bench(host).make({
      name: "Halves",
      pipeline: [
        { id: "save", type: "dataset.write", dataset_slug: "halves" },
        // The clock moves until the halves have ended, beyond an action's usual limit.
        { id: "act", type: "world.act", says: "hello", await: true, timeout_ms: 600_000 },
      ],
    })
    const whole = post(inbound_url, { n: 1 })
    await until("the action began", () => world.acts.length === 1)

    const head = "Host: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"
    const event = open(host.url, `POST ${new URL(inbound_url).pathname} HTTP/1.1\r\n${head}\r\n{"n":`)
    const asAdmin = `${head}Authorization: Bearer ${host.adminKey}\r\n`
    const request = open(host.url, `POST /v1/datasets HTTP/1.1\r\n${asAdmin}\r\n{"name":`)
    const halfHead = open(host.url, "GET /healthz HTTP/1.1\r\nX-Half: ")
    const halves = [event, request, halfHead]
    await Promise.all(halves.map(({ socket }) => once(socket, "connect")))
    // Answered on a later connection, so the halves have been read.
    const later = open(host.url, probe)
    await until("the answer to a later connection", () => later.closed)

    const stopped = host.stop()
    await until("the halves were ended", () => {
      host.clock.move(1_000)
      return halves.every(({ closed }) => closed)
    })
    expect([statusOf(event), statusOf(request), statusOf(halfHead)]).to.deep.equal([[503], [503], []])
    for (const { said: output } of [event, request]) {
      expect(output)
        .to.include('"reason":"draining"')
        .and.match(/retry-after: 1\r\n/i)
        .and.match(/connection: close\r\n/i)
    }
    release()
    expect((await whole).status).to.equal(200)
    await stopped

    const again = await testHost({ dataDir, plugins: [outsideWorld().plugin] })
    try {
      const bench = new Bench(again)
      expect((await bench.rows("halves")).map(({ values }) => values["n"])).to.deep.equal([1])
      expect((await bench.books()).entries).to.equal(1)
    } finally {
      await again.stop()
    }
  })
})

describe("more connections than the limit of open files allows", () => {
  let bench: SurfaceBench
  // Three of nine are reserved, one of them for refusals.
  beforeEach(async () => {
    bench = await openSurfaceBench({ free: () => 9 })
  })
  afterEach(() => bench.close())

  const half = "POST /v1/notes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a-member\r\nContent-Length: 100\r\n\r\n{"
  const ask = "GET /v1/notes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a-member\r\nConnection: close\r\n\r\n"
  const answered = async (text: string) => {
    const wire = open(bench.url, text)
    // Possibly with an error: unread bytes are reset when the server closes the connection.
    await until("the connection being closed", () => wire.closed)
    return wire
  }
  const counted = async () => {
    const lines = (await bench.connected.metrics()).split("\n")
    return lines.filter((line) => line.startsWith("millrace_connections_refused_total{"))
  }

  it("are answered 503, then closed; probes are answered, and all is well when some have ended", async () => {
    const busy = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const wire = open(bench.url, half)
        await once(wire.socket, "connect")
        return wire
      }),
    )
    const refused = await answered(ask)
    expect(statusOf(refused)).to.deep.equal([503])
    expect(refused.said)
      .to.include('"reason":"too_many_connections"')
      .and.match(/retry-after: 1\r\n/i)
    expect(statusOf(await answered(probe))).to.deep.equal([200])

    const seventh = open(bench.url)
    await once(seventh.socket, "connect")
    expect(statusOf(await answered(ask))).to.deep.equal([])
    expect(await counted()).to.have.members([
      'millrace_connections_refused_total{how="answered"} 1',
      'millrace_connections_refused_total{how="closed"} 1',
    ])
    expect(bench.logged.filter((line) => line.includes("LimitNOFILE")).length).to.equal(2)

    seventh.socket.destroy()
    for (const { socket } of busy) socket.destroy()
    await until("the room was given back", async () => statusOf(await answered(ask))[0] === 200)
  })

  it("make those that wait for their next request give way", async () => {
    const waiting = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const wire = open(bench.url, probe.replace("Connection: close\r\n", ""))
        await until("an answer", () => statusOf(wire).length === 1)
        return wire
      }),
    )
    expect(statusOf(await answered(ask))).to.deep.equal([503])
    await until("they were closed", () => waiting.every(({ closed }) => closed))
    expect((await call(bench, "GET", "/v1/notes")).status).to.equal(200)
  })
})
