// `tail` and `listen`: a running service's events in real time, also through lost connections.
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { cuttingProxy } from "../../client/cutting-proxy.ts"
import { finished, outputUntil } from "../../processes.ts"
import { until } from "../../waiting.ts"
import { CommandFolder } from "./command.ts"

interface Wire {
  readonly inbound_url: string
}

describe("events of a running service", () => {
  let host: TestHost
  let folder: CommandFolder
  let env: Record<string, string>
  before(async () => {
    host = await testHost({})
  })
  after(() => host.stop())
  beforeEach(() => {
    folder = new CommandFolder()
    env = { MILLRACE_URL: host.url, MILLRACE_KEY: host.adminKey }
  })
  afterEach(() => folder.remove())

  it("tails events, filtered, and sends accepted ones on", async () => {
    const args: { headers: IncomingHttpHeaders; body: string }[] = []
    let notify = () => {}
    const arrived = new Promise<void>((resolve) => {
      notify = resolve
    })
    const local = createServer((request, response) => {
      let body = ""
      request.on("data", (chunk: Buffer) => (body += chunk.toString()))
      request.on("end", () => {
        args.push({ headers: request.headers, body })
        response.end("ok")
        notify()
      })
    })
    await new Promise<void>((resolve) => local.listen(0, "127.0.0.1", resolve))
    const target = `http://127.0.0.1:${(local.address() as AddressInfo).port}/hook`
    const schema = { type: "object", required: ["email"] }
    const { body: wire } = await host.api<Wire>("POST", "/v1/event-pipelines", {
      name: "Tailed",
      state: "active",
      auth_mode: "none",
      request_schema: schema,
      dedupe: { key: "{{ payload.email }}", window: "1h" },
      pipeline: [{ id: "answer", type: "respond", status: "{{ event.status }}" }],
    })
    const { body: other } = await host.api<Wire>("POST", "/v1/event-pipelines", { name: "Untailed", state: "active", auth_mode: "none" })
    const tail = folder.start(["tail", "--pipeline", "tailed"], env)
    const listen = folder.follow(["listen", "--forward", target, "--pipeline", "tailed"], env)
    const endings = [tail, listen].map((item) => finished(item))
    try {
      await Promise.all([outputUntil(tail, /Listening to/), outputUntil(listen, /Forwarding accepted/)])
      const lines = outputUntil(tail, /accepted +tailed/)
      await host.send(other, { email: "not@this.one" })
      await host.send(wire, { name: "nobody" })
      await host.send(wire, { email: "ada@example.com", status: 201 }, { headers: { "x-own": "kept" } })
      expect(await lines).to.match(/rejected +tailed .*schema_mismatch/)
      await arrived
      const more = outputUntil(tail, /failed +tailed .*\n/)
      await host.send(wire, { email: "ada@example.com", status: 201 })
      await host.send(wire, { email: "eve@example.com", status: "none" })
      expect(await more)
        .to.match(/accepted +tailed .*repeat of [0-9a-f-]{36}/)
        .and.to.match(/failed +tailed .*action_failed in answer/)
    } finally {
      tail.kill("SIGTERM")
      listen.stop()
      const ended = await Promise.all(endings)
      local.close()
      expect(
        ended.map(({ code }) => code),
        ended[0]?.output,
      ).to.deep.equal([0, 0])
      expect(ended[0]?.output).to.not.include("untailed")
    }
    expect(args.map(({ body }) => body)).to.deep.equal(['{"email":"ada@example.com","status":201}'])
    const unknown = await folder.run(["tail", "--pipeline", "no-such-pipeline"], env)
    expect([unknown.code === 0, unknown.output.includes("no-such-pipeline")]).to.deep.equal([false, true])
    expect(args[0]?.headers).to.include({ "x-own": "kept", "x-millrace-pipeline": "tailed" })
  })

  it("are told once each, those too that came while the connection was lost", async () => {
    const { body: wire } = await host.api<Wire>("POST", "/v1/event-pipelines", {
      name: "Lost",
      state: "active",
      auth_mode: "none",
      pipeline: [{ type: "email.send", to: "ada@example.com", heading: "Deferred, and told of once" }],
    })
    const proxy = await cuttingProxy(host.url)
    const tail = folder.follow(["tail", "--pipeline", "lost", "--json"], { ...env, MILLRACE_URL: proxy.url })
    const ending = finished(tail)
    let message = ""
    tail.stdout.on("data", (chunk: Buffer) => {
      message += chunk.toString()
    })
    try {
      await outputUntil(tail, /Listening to/)
      const first = outputUntil(tail, /"pipeline":"lost"/)
      const ids = [await idOf(wire, 1)]
      await first
      for (let n = 2; n <= 4; n++) {
        const back = outputUntil(tail, /is lost; reconnecting.*Connected again/s)
        proxy.cutNow()
        ids.push(await idOf(wire, n))
        await back
      }
      ids.push(await idOf(wire, 5))
      await until("the line of the last event", () => message.includes(ids[4] ?? "none"))
      tail.stop()
      const { code, output } = await ending
      const text = output.split("\n").filter((line) => line.startsWith("{"))
      expect([code, text.map((line) => (JSON.parse(line) as { id: string }).id)], output).to.deep.equal([0, ids])
    } finally {
      tail.stop()
      await ending
      await proxy.close()
    }
  })

  it("are told again when what they became is another thing", async () => {
    const { body: wire } = await host.api<Wire>("POST", "/v1/event-pipelines", {
      name: "Failing",
      state: "active",
      auth_mode: "none",
      pipeline: [{ type: "http.request", url: "https://nowhere.test/x", retry: { max_attempts: 1 } }],
    })
    const tail = folder.follow(["tail", "--pipeline", "failing"], env)
    const ending = finished(tail)
    try {
      await outputUntil(tail, /Listening to/)
      const failed = outputUntil(tail, /failed +failing/)
      const id = await idOf(wire, 1)
      await failed
      const again = outputUntil(tail, /accepted +failing.*failed +failing/s)
      expect((await host.api("POST", `/v1/event-pipelines/failing/executions/${id}/retry`)).status).to.equal(200)
      await again
      tail.stop()
      const { output } = await ending
      expect(output.match(/(accepted|failed) +failing/g)?.map((report) => report.split(" ")[0])).to.deep.equal([
        "accepted",
        "failed",
        "accepted",
        "failed",
      ])
    } finally {
      tail.stop()
      await ending
    }
  })

  it("cannot be had from where nothing answers, or with an invalid key: in a line, at once", async () => {
    // A port without an assigned service, and outside the system's own range.
    const nobody = "http://127.0.0.1:2"
    const nowhere = await folder.run(["tail", "--url", nobody, "--key", "any"], env)
    expect([nowhere.code, nowhere.output.trim()]).to.deep.equal([1, `${nobody} cannot be reached (ECONNREFUSED). Is the service running?`])
    const keyless = await folder.run(["listen", "--forward", "http://127.0.0.1:9/", "--key", "none"], env)
    expect([keyless.code, keyless.output.trim().split("\n").length], keyless.output).to.deep.equal([1, 1])
    expect(keyless.output).to.include("key")
  })

  const idOf = async (wire: Wire, n: number) => (await host.send<{ execution_id: string }>(wire, { n })).body.execution_id
})
