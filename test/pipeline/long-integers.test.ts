// Integers beyond 2^53 at each entry. A sender's keep their digits as text, a caller's are refused, and no integer is rounded.
import { expect } from "chai"
import { io } from "socket.io-client"
import { type TestHost, testHost } from "#core/testing"
import { CommandFolder } from "../cli/pipelines/command.ts"
import { listen, type Peer } from "../plugins/outgoing-http/loopback-peer.ts"
import { Loop } from "../plugins/page-events/loop.ts"
import { callTool, jsonOf } from "../surface/mcp/rpc.ts"
import { Bench } from "./bench.ts"

const long = "9007199254740993"
const longs = [long, "-9007199254740993", "12345678901234567890"]

describe("an integer beyond 2^53", () => {
  let host: TestHost
  let bench: Bench
  let peer: Peer
  before(async () => {
    peer = await listen((request, response) =>
      response
        .setHeader("content-type", "application/json")
        .end(`{"id":${request.url.slice(1)},"list":[{"id":${long}}],"small":42,"part":1.5}`),
    )
    host = await testHost({ capture: false, env: { MILLRACE_OUTGOING_ALLOW_HOSTS: `127.0.0.1:${peer.port}` } })
    bench = new Bench(host)
  })
  after(async () => {
    await host.stop()
    await peer.close()
  })

  const post = async (url: string, body: string, type = "application/json") => {
    const answer = await fetch(url, { method: "POST", headers: { "content-type": type }, body })
    return { status: answer.status, text: await answer.text() }
  }

  it("keeps its digits in deduplication keys, so that two events stay two", async () => {
    const pipeline = await bench.make({
      name: "Keyed",
      dedupe: { key: "{{ payload.id }}" },
      pipeline: [{ type: "dataset.write", dataset_slug: "keyed" }],
    })
    for (const id of ["9007199254740993", "9007199254740992", "9007199254740993"])
      expect((await post(pipeline.inbound_url, `{"id":${id}}`)).status).to.equal(200)
    expect((await bench.rows("keyed")).map(({ values }) => values["id"])).to.have.members(["9007199254740993", "9007199254740992"])
  })

  it("keeps its digits in answers of http.request", async () => {
    for (const [n, digits] of longs.entries()) {
      const pipeline = await bench.make({
        name: `Asks ${n}`,
        pipeline: [
          { type: "http.request", id: "ask", method: "GET", url: `${peer.origin}/${digits}`, await: true },
          { type: "respond", body: { answer: "{{ steps.ask.body }}" } },
        ],
      })
      const { text } = await post(pipeline.inbound_url, "{}")
      expect(JSON.parse(text)).to.deep.equal({ answer: { id: digits, list: [{ id: long }], small: 42, part: 1.5 } })
    }
  })

  it("keeps its digits in page events", async () => {
    const loop = new Loop(host)
    const page = await loop.publish()
    const { inbound_url } = await loop.pipeline(page)
    const pageviewOf = (id: string) => `{"event_id":${id},"event":"pageview","visitor_id":"v-12345678"}`
    const body = `{"_envelope":{"artifact_id":"${page.id}"},"events":[${pageviewOf("9007199254740993")},${pageviewOf("9007199254740992")}]}`
    const answer = await fetch(inbound_url, {
      method: "POST",
      headers: { "content-type": "text/plain", "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0.0.0 Safari/537.36" },
      body,
    })
    expect(answer.status, await answer.text()).to.equal(200)
    const ids = (await loop.rows()).map(({ event_id }) => event_id)
    expect(ids).to.have.members(["9007199254740993", "9007199254740992"])
  })

  it("is refused in YAML with its line, and kept in quotes", async () => {
    const folder = new CommandFolder()
    try {
      for (const digits of [...longs, "0x20000000000001", "+9007199254740993"]) {
        folder.write("pipelines/ids.yaml", `name: Ids\npipeline:\n  - { type: respond, body: { id: ${digits} } }\n`)
        const { code, output } = await folder.run(["validate", "pipelines/ids.yaml"])
        expect([code, output], digits).to.satisfy(([exit, text]: [number, string]) => exit === 1 && /3:\d+.*put it in quotes/s.test(text))
      }
      folder.write("pipelines/ids.yaml", `name: Ids\npipeline:\n  - { type: respond, body: { id: "${long}", n: 9007199254740992 } }\n`)
      expect((await folder.run(["validate", "pipelines/ids.yaml"])).output).not.to.include("put it in quotes")
    } finally {
      folder.remove()
    }
  })

  it("is refused in filters of sockets", async () => {
    const socket = io(host.url, { path: "/live", auth: { token: host.adminKey }, transports: ["websocket"], forceNew: true })
    try {
      for (const filter of [{ pipeline: 9_007_199_254_740_992 }, { status: -1e17 }]) {
        const refused = (await socket.emitWithAck("subscribe", { channel: "executions", filter })) as { code: string; message: string }
        expect([refused.code, JSON.stringify(refused)]).to.satisfy(
          ([code, text]: [string, string]) => code === "invalid_argument" && text.includes("2^53"),
        )
      }
      expect(await socket.emitWithAck("subscribe", { channel: "executions", filter: { pipeline: long } })).to.deep.equal({ ok: true })
    } finally {
      socket.close()
    }
  })

  it("is refused in arguments of MCP that are JSON text", async () => {
    await host.api("POST", "/v1/datasets", { name: "Ids" })
    for (const digits of longs) {
      const input = `{"slug":"ids","rows":[{"account":{"id":${digits}}}]}`
      const result = await callTool({ url: host.url, key: host.adminKey, query: "" }, "call_destructive", {
        name: "datasets_insert_rows",
        arguments: input,
      })
      expect(result.isError, digits).to.equal(true)
      expect(jsonOf<{ code: string; message: string }>(result).message).to.include("rows.0.account.id").and.include("send it as text")
    }
    expect(await bench.rows("ids")).to.deep.equal([])
  })
})
