// Compressed bodies and other encodings of requests.
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { connect } from "node:net"
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { Bench, type Made } from "../bench.ts"

describe("a compressed body", () => {
  let host: TestHost
  let bench: Bench
  let open: Made
  let signed: Made

  before(async () => {
    host = await testHost({})
    bench = new Bench(host)
    open = await bench.make({ name: "Open", pipeline: [{ type: "respond", body: "{{ event }}" }] })
    signed = await bench.make({ name: "Signed", auth_mode: "hmac_sha256", auth_config: { secret: "sixteen-characters" } })
  })
  after(() => host.stop())

  const send = async (url: string, encoding: string, body: Buffer, headers: Record<string, string> = {}) => {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", "content-encoding": encoding, ...headers },
      body: new Uint8Array(body),
    })
    const text = await answer.text()
    return { status: answer.status, body: JSON.parse(text) as { details?: { reason?: string } }, text }
  }

  const json = JSON.stringify({ name: "Zoë", list: [1, 2] })
  const encodings: readonly [title: string, header: string, body: Buffer][] = [
    ["gzip", "gzip", gzipSync(json)],
    ["gzip in two members", "X-GZIP", Buffer.concat([gzipSync(json.slice(0, 5)), gzipSync(json.slice(5))])],
    ["deflate of zlib", "deflate", deflateSync(json)],
    ["bare deflate", "Deflate", deflateRawSync(json)],
    ["brotli", "br", brotliCompressSync(json)],
    ["identity", "identity", Buffer.from(json)],
  ]
  for (const [title, header, body] of encodings) {
    it(`is read: ${title}`, async () => {
      const answer = await send(open.inbound_url, header, body)
      expect([answer.status, answer.body]).to.deep.equal([200, JSON.parse(json)])
    })
  }

  it("is read as a form too", async () => {
    const answer = await send(open.inbound_url, "gzip", gzipSync("a=1&b=%C3%A4"), { "content-type": "application/x-www-form-urlencoded" })
    expect([answer.status, answer.body]).to.deep.equal([200, { a: "1", b: "ä" }])
  })

  for (const [title, header, compress] of [
    ["gzip", "gzip", gzipSync],
    ["deflate", "deflate", deflateSync],
    ["brotli", "br", brotliCompressSync],
  ] as const) {
    it(`is refused with 413 if it is larger than the limit of bodies: ${title}`, async () => {
      const answer = await send(open.inbound_url, header, compress(Buffer.alloc(30_000_000, 32)))
      expect([answer.status, answer.body.details?.reason]).to.deep.equal([413, "body_too_large"])
      expect((await bench.newest("open")).cause).to.equal("body_too_large")
    })
  }

  it("is refused with 400 if it cannot be decompressed", async () => {
    for (const body of [Buffer.from(json), gzipSync(json).subarray(0, 12)]) {
      const answer = await send(open.inbound_url, "gzip", body)
      expect([answer.status, answer.body.details?.reason]).to.deep.equal([400, "malformed_body"])
    }
  })

  it("has a signature over the bytes as sent, or over the bytes before the compression", async () => {
    const packed = gzipSync(json)
    const sign = (bytes: string | Buffer) => ({
      "x-signature-256": `sha256=${createHmac("sha256", "sixteen-characters").update(bytes).digest("hex")}`,
    })
    const answers = [
      await send(signed.inbound_url, "gzip", packed, sign(packed)),
      await send(signed.inbound_url, "gzip", packed, sign(json)),
      await send(signed.inbound_url, "gzip", packed, sign("other")),
    ]
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 401])
    expect((await bench.entries("signed")).map(({ cause }) => cause)).to.deep.equal(["wrong_secret", "", ""])
  })

  it("is read by operations of the API within their limit", async () => {
    const { body: created } = await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "Packer", role: "admin" })
    const headers = { authorization: `Bearer ${created.secret}`, "content-type": "application/json", "content-encoding": "gzip" }
    const create = (body: string) => fetch(`${host.url}/v1/datasets`, { method: "POST", headers, body: new Uint8Array(gzipSync(body)) })
    expect((await create('{"name":"Packed"}')).status).to.equal(200)
    expect((await create(`{"name":"${" ".repeat(2_000_000)}"}`)).status).to.equal(413)
  })

  it("is read at the address with a slash at its end", async () => {
    for (const url of [`${open.inbound_url}/`, `${open.inbound_url}/?a=1`, `${host.url}/healthz/`]) {
      const method = url.includes("inbound") ? "POST" : "GET"
      const answer = await fetch(url, { method, ...(method === "POST" && { body: json, headers: { "content-type": "application/json" } }) })
      expect(answer.status, url).to.equal(200)
    }
    const unknown = await fetch(`${host.url}/v1/inbound/in_000000000000000000000x/`, { method: "POST", body: json })
    expect(unknown.status).to.equal(404)
  })

  it("is refused over HTTP/2 without TLS with HTTP_1_1_REQUIRED", async () => {
    const { hostname, port } = new URL(host.url)
    const socket = connect(Number(port), hostname)
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0")
    const chunks: Buffer[] = []
    socket.on("data", (chunk: Buffer) => chunks.push(chunk))
    await once(socket, "close")
    const answer = Buffer.concat(chunks)
    const [settings, goAway] = [answer.subarray(0, 9), answer.subarray(9)]
    expect([settings[3], goAway[3]]).to.deep.equal([4, 7])
    expect(goAway.readUInt32BE(13)).to.equal(0x0d)
    expect(goAway.readUIntBE(0, 3)).to.equal(goAway.length - 9)
  })
})
