// Hostile clients over raw sockets, beside honest load. Each is refused or disconnected, and its data is not stored. Other
// clients are neither refused nor delayed.
import { connect, type Socket } from "node:net"
import { gzipSync } from "node:zlib"
import { expect } from "chai"
import { expectWithin, isSoak } from "../tier.ts"
import { untilProcess as until } from "../waiting.ts"
import { checkBooks, jobsSettled } from "./books.ts"
import { type Peer, startPeer } from "./peer.ts"
import { type MadePipeline, makePipeline, shelves } from "./rounds.ts"
import { Sender } from "./sender.ts"
import { apiOf, freshFolder, type ServiceProcess, startService } from "./service-process.ts"
import { acknowledged, residentMb } from "./under-load.ts"

/** Fewer than the half-sent bodies, which must not use up the slots of events. */
const maxInFlight = 100
const mebibyte = 1 << 20
/** It takes a quarter of a minute until they are disconnected. */
const restWhileDripping = 200

class Attack {
  readonly #sockets: Socket[] = []
  readonly #url: URL
  readonly pathname: string

  constructor(endpoint: string) {
    this.#url = new URL(endpoint)
    this.pathname = this.#url.pathname
  }

  open(text: string | Buffer): Socket {
    const socket = connect(Number(this.#url.port), this.#url.hostname)
    socket.on("error", () => undefined)
    socket.write(text)
    this.#sockets.push(socket)
    return socket
  }

  post(headers: string, path = this.pathname): string {
    return `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}`
  }

  end(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}

describe("hostile clients", () => {
  const folder = freshFolder()
  const message = { acknowledged: new Map<number, string>(), unanswered: new Set<number>(), refused: new Map<number, number>() }
  let peer: Peer
  let service: ServiceProcess
  let pipeline: MadePipeline
  let next = 1
  before(async () => {
    peer = await startPeer()
    const env = { MILLRACE_OUTGOING_ALLOW_HOSTS: peer.host, MILLRACE_INBOUND_MAX_IN_FLIGHT: String(maxInFlight) }
    service = await startService({ dataDir: folder.path, env })
    pipeline = await makePipeline(apiOf(service, folder.path), peer.url)
  })
  after(async () => {
    await service?.kill()
    await peer?.stop()
    folder.remove()
  })

  /** Runs an attack under load, and checks that the load was served normally. */
  async function attacked(attack: (on: Attack, pid: number, load: Sender) => Promise<void>, restMs = 50): Promise<void> {
    const endpoint = `${service.url}/v1/inbound/${pipeline.endpoint_id}`
    const load = new Sender({ url: endpoint, secret: pipeline.secret, connections: 8, from: next, restMs: isSoak ? 0 : restMs })
    load.start()
    await acknowledged(load, 100)
    const on = new Attack(endpoint)
    let slowest = 0
    try {
      await attack(on, service.pid, load)
      const began = performance.now()
      await acknowledged(load, 100)
      slowest = performance.now() - began
    } finally {
      on.end()
      await load.stop()
      next = load.next
      for (const [n, id] of load.acknowledged) message.acknowledged.set(n, id)
    }
    expectWithin(10_000, slowest, "a hundred events beside the attack")
    expect([...load.refused.values(), load.unanswered.size]).to.deep.equal([0])
    const api = apiOf(service, folder.path)
    expect(await jobsSettled(api)).to.deep.equal([])
    const { problems, entries } = await checkBooks(api, shelves, message, peer)
    expect(problems).to.deep.equal([])
    // Half-sent bodies and refused requests leave neither an accepted entry nor a row.
    expect(entries).to.equal(message.acknowledged.size)
  }

  it("that send half a head or half a body, by the hundred, take nobody's room", () =>
    attacked(async (on) => {
      for (let index = 0; index < 200; index++) on.open("POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
      for (let index = 0; index < 2 * maxInFlight; index++) on.open(`${on.post("Content-Length: 1000\r\n\r\n")}{"half":`)
      for (let index = 0; index < 50; index++) on.open(`${on.post("Content-Length: 1000\r\n\r\n")}{`).end()
    }))

  it("that drip a head are cut", () =>
    attacked(async (on) => {
      const socket = on.open("POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
      const drip = setInterval(() => socket.write("y"), 200)
      const answer = await answerTo(socket).finally(() => clearInterval(drip))
      expect(statuses(answer)).to.deep.equal(["408"])
    }, restWhileDripping))

  it("that begin more large bodies than there is memory for are refused, and memory stays bounded", () =>
    attacked(async (on, pid) => {
      const before = process.platform === "linux" ? residentMb(pid) : 0
      const body = `{"half":"${"x".repeat(mebibyte - 10_000)}`
      const answers = Array.from({ length: 160 }, () => answerTo(on.open(`${on.post(`Content-Length: ${mebibyte}\r\n\r\n`)}${body}`)))
      let refused = 0
      for (const answer of answers) void answer.then((text) => statuses(text)[0] === "429" && refused++)
      // Bodies beyond the first 64 MiB. The others keep waiting for their ends.
      await until("80 bodies refused", () => refused >= 80)
      if (process.platform === "linux") expect(residentMb(pid) - before).to.be.lessThan(300)
    }))

  it("that send what is not HTTP, too much of it, or packed, are refused each in its own way", () =>
    attacked(async (on) => {
      const refusals: [what: string, wanted: string[], text: string | Buffer][] = [
        ["an endless header", ["431"], on.post(`X-Long: ${"x".repeat(80_000)}`)],
        ["endless headers", ["431"], on.post(Array.from({ length: 6_000 }, (_, n) => `X-${n}: ${n}\r\n`).join(""))],
        ["two lengths", ["400"], `${on.post("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n")}{}`],
        ["an endless body", ["413"], `${on.post("Transfer-Encoding: chunked\r\n\r\n")}${`10000\r\n${"x".repeat(0x10000)}\r\n`.repeat(20)}`],
        ["a body announced too large", ["413"], on.post(`Content-Length: ${64 * mebibyte}\r\n\r\n`)],
        ["no HTTP", ["400"], "\u0016\u0003\u0001 garbage\r\n\r\n"],
        ["a bomb to the endpoint", ["413"], bomb((headers) => on.post(headers))],
        ["a bomb to the API", ["401", "413"], bomb((headers) => on.post(headers, "/v1/datasets"))],
      ]
      for (const [what, expected, text] of refusals) {
        const [status = "none"] = statuses(await answerTo(on.open(text)))
        expect(expected, `${what}: ${status}`).to.include(status)
      }
      // The unsigned event before it may be answered first. In both cases the connection ends with the refusal.
      const garbage = await answerTo(on.open(`${on.post("Content-Length: 2\r\n\r\n")}{}\u0000\u0001 garbage\r\n\r\n`), /HTTP[\s\S]*HTTP/)
      expect(["400", "401,400"]).to.include(statuses(garbage).join())
    }))

  it("that send thousands of requests ahead and read no answer wait for themselves alone", () =>
    attacked(async (on, pid, load) => {
      const before = process.platform === "linux" ? residentMb(pid) : 0
      const request = `${on.post("Content-Length: 2\r\n\r\n")}{}`
      for (let index = 0; index < 20; index++) on.open(request.repeat(2_000)).pause()
      await acknowledged(load, 300)
      if (process.platform === "linux") expect(residentMb(pid) - before).to.be.lessThan(300)
    }))
})

/** 64 MiB of zeros in 64 KiB. */
function bomb(head: (headers: string) => string): Buffer {
  const packed = gzipSync(Buffer.alloc(64 * mebibyte))
  return Buffer.concat([Buffer.from(head(`Content-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`)), packed])
}

function statuses(text = ""): string[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status ?? "")
}

/** Returns the server's output until the pattern matches or the server disconnects. */
function answerTo(socket: Socket, until = /HTTP\/1\.1 \d+/): Promise<string> {
  return new Promise((resolve) => {
    let text = ""
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString()
      if (until.test(text)) resolve(text)
    })
    socket.on("close", () => resolve(text))
  })
}
