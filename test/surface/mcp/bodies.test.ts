// Bodies of POST /mcp: the limits, types and charsets of REST.
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { gzipSync } from "node:zlib"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import type { ErrorBody } from "../../../core/kernel/errors.ts"
import { until } from "../../waiting.ts"

const maxBytes = 1_048_576
const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

describe("a body of MCP over HTTP", () => {
  let host: TestHost
  before(async () => {
    host = await testHost({})
  })
  after(() => host.stop())

  const post = async (body: Uint8Array | string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${host.url}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json", authorization: `Bearer ${host.adminKey}`, ...headers },
      body: body as string,
    })
    const json = (await answer.json()) as ErrorBody & { error?: { code: number }; result?: object }
    return { status: answer.status, reason: json.details?.reason, json }
  }
  const opened = (headers: string) => {
    const socket = connect(Number(new URL(host.url).port), "127.0.0.1")
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: ${new URL(host.url).host}\r\nAuthorization: Bearer ${host.adminKey}\r\nContent-Type: application/json\r\n${headers}\r\n\r\n`,
    )
    return socket
  }
  const answerOf = async (socket: Socket) => {
    let text = ""
    socket.on("data", (chunk) => {
      text += String(chunk)
    })
    await until("the answer", () => /\r\n\r\n.*[}\]]/s.test(text))
    socket.destroy()
    return text
  }

  it("is refused with 413 beyond the limit: sent whole, announced, in chunks or compressed", async () => {
    const whole = await post("x".repeat(maxBytes + 1))
    expect([whole.status, whole.json.code, whole.reason, whole.json.details["max_bytes"]]).to.deep.equal([
      413,
      "resource_exhausted",
      "body_too_large",
      maxBytes,
    ])
    expect(await answerOf(opened(`Content-Length: ${maxBytes * 64}`))).to.match(/^HTTP\/1\.1 413 .*body_too_large/s)
    const chunked = opened("Transfer-Encoding: chunked")
    chunked.write(`10000\r\n${"x".repeat(0x10000)}\r\n`.repeat(17))
    expect(await answerOf(chunked)).to.match(/^HTTP\/1\.1 413 .*body_too_large/s)
    const bomb = await post(gzipSync(" ".repeat(8 * maxBytes)), { "content-encoding": "gzip" })
    expect([bomb.status, bomb.reason]).to.deep.equal([413, "body_too_large"])
  })

  it("is read in pieces and compressed", async () => {
    const slow = opened(`Content-Length: ${list.length}\r\nExpect: 100-continue\r\nAccept: application/json`)
    await once(slow, "data")
    for (const piece of [list.slice(0, 10), list.slice(10, 11)]) await new Promise((resolve) => slow.write(piece, resolve))
    const answer = answerOf(slow)
    slow.write(list.slice(11))
    expect(await answer).to.match(/^HTTP\/1\.1 200 .*"tools":\[/s)
    for (const encoding of ["gzip", "x-gzip"]) {
      const { status, json } = await post(gzipSync(list), { "content-encoding": encoding })
      expect([status, json.result], encoding).to.have.nested.property("[1].tools")
    }
    const unknown = await post(list, { "content-encoding": "zip" })
    expect([unknown.status, unknown.json.code]).to.deep.equal([415, "invalid_argument"])
  })

  it("is refused with 415 for another type or charset, and with 400 if it is not UTF-8 or not JSON", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx"]) {
      const { status, reason } = await post(list, { "content-type": type })
      expect([status, reason], type).to.deep.equal([415, "unsupported_content_type"])
    }
    const charset = await post(list, { "content-type": "application/json; charset=utf-16" })
    expect([charset.status, charset.reason]).to.deep.equal([415, "unsupported_charset"])
    const latin = await post(Buffer.from(list.replace("tools/list", "größe"), "latin1"))
    expect([latin.status, latin.reason]).to.deep.equal([400, "not_utf8"])
    const broken = await post(list.slice(0, -1))
    expect([broken.status, broken.json.error?.code]).to.deep.equal([400, -32700])
    for (const type of ["application/json; charset=UTF-8", "Application/JSON"])
      expect((await post(list, { "content-type": type })).status, type).to.equal(200)
    expect((await post(`\ufeff${list}`)).status).to.equal(200)
  })

  it("that ends early is not a fault of the service", async () => {
    const counted = async () => {
      const text = await (await fetch(`${host.url}/metrics`)).text()
      const series = text.matchAll(/^millrace_http_request_seconds_count\{[^}]*operation="mcp"[^}]*\} (\d+)$/gm)
      return Array.from(series, ([, count]) => Number(count)).reduce((sum, count) => sum + count, 0)
    }
    for (const framing of ["Content-Length: 900", "Transfer-Encoding: chunked"]) {
      const before = await counted()
      const socket = opened(`${framing}\r\nExpect: 100-continue`)
      await once(socket, "data")
      socket.write(framing.startsWith("Content") ? list : `2e\r\n${list}\r\n`)
      socket.destroy()
      await until("the request being counted", async () => (await counted()) > before)
    }
    expect(host.logged.filter((line) => /request failed|ECONNRESET|aborted/.test(line))).to.deep.equal([])
  })
})
