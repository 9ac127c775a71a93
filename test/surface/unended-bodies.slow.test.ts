// Bodies without an end: each surface answers 408 after the time limit of requests.
import { connect } from "node:net"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { Bench } from "../pipeline/bench.ts"

describe("a body without an end", () => {
  let host: TestHost
  before(async () => {
    host = await testHost({})
  })
  after(() => host.stop())

  it("is answered with 408 by REST, MCP and inbound, and leaves no trace", async () => {
    const { inbound_url, slug } = await new Bench(host).make({ name: "Slow" })
    const paths = ["/v1/datasets", "/mcp", new URL(inbound_url).pathname]
    const answers = await Promise.all(paths.map((path) => drip(path)))
    for (const [index, answer] of answers.entries()) expect(answer, paths[index]).to.match(/^HTTP\/1\.1 408 .*"deadline_exceeded"/s)
    expect(host.logged.filter((line) => /request failed|ECONNRESET/.test(line))).to.deep.equal([])
    const { body } = await host.api<{ executions: object[] }>("GET", `/v1/event-pipelines/${slug}/executions`)
    expect(body.executions.filter((execution) => "status" in execution && execution.status === "accepted")).to.deep.equal([])
  })

  /** Sends a space each second and returns the answer. */
  function drip(path: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let answer = ""
      const socket = connect(Number(new URL(host.url).port), "127.0.0.1")
      const head = `Host: ${new URL(host.url).host}\r\nAuthorization: Bearer ${host.adminKey}\r\nContent-Type: application/json\r\nContent-Length: 900`
      socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\n\r\n{`)
      const pieces = setInterval(() => socket.write(" "), 1_000)
      socket.on("data", (chunk) => {
        answer += String(chunk)
      })
      socket.on("error", reject)
      socket.on("close", () => {
        clearInterval(pieces)
        resolve(answer)
      })
    })
  }
})
