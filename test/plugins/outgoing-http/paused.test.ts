// Silent hosts: their calls are paused, and the pause is visible to all. Connections belong to an organization.
import { expect } from "chai"
import { OutgoingHttp, type OutgoingRequest } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { failureOf } from "../../refusal.ts"
import { until } from "../../waiting.ts"
import { listen, type Peer } from "./loopback-peer.ts"

describe("calls to a host that does not answer", () => {
  let host: TestHost
  let isSilent = true
  const requests: string[] = []
  before(async () => {
    host = await testHost()
    host.outgoing.fixtures.push(async ({ url }) => {
      requests.push(url)
      if (isSilent && url.startsWith("https://silent.example.com")) await new Promise(() => {})
      return { status: 200, headers: {}, body: "" }
    })
  })
  beforeEach(() => {
    isSilent = true
    requests.length = 0
  })
  after(() => host.stop())
  const call = (url: string, more: Partial<OutgoingRequest> = {}) =>
    host.get(OutgoingHttp).fetch({ url, organization: host.organization.id, ...more })
  const timeOut = async (count: number, more: Partial<OutgoingRequest> = {}) => {
    const calls = Array.from({ length: count }, () => failureOf(call("https://silent.example.com/", more)))
    await until(() => requests.length >= count)
    host.clock.move(20_000)
    for (const error of await Promise.all(calls)) expect(error.code).to.equal("deadline_exceeded")
  }
  const metric = async (name: string) => {
    const text = await (await fetch(`${host.url}/metrics`)).text()
    return text.split("\n").find((line) => line.startsWith(`${name}{`) && line.includes(host.organization.id))
  }
  /** Storage may be reported as slow once after a move of the clock. */
  const readiness = () =>
    until("a ready service", async () => {
      const answer = await fetch(`${host.url}/readyz`)
      const body = await answer.json()
      return answer.status === 200 && body
    })
  /** Waits until no call is refused any more. */
  const recover = async () => {
    isSilent = false
    host.clock.move(400_000)
    await call("https://silent.example.com/")
  }

  it("pauses them after five timeouts in a row, for one organization and one host", async () => {
    await timeOut(4)
    await timeOut(1)
    requests.length = 0
    const refused = await failureOf(call("https://silent.example.com/other"))
    expect(refused.code).to.equal("unavailable")
    expect(refused.details).to.include({ reason: "destination_paused" })
    expect(refused.message).to.include("silent.example.com").and.to.include("Check that it is up")
    await call("https://other.example.com/")
    expect(requests).to.deep.equal(["https://other.example.com/"])
    const other = failureOf(call("https://silent.example.com/", { organization: "another organization" }))
    await until(() => requests.length === 2)
    host.clock.move(20_000)
    expect((await other).code).to.equal("deadline_exceeded")
    await recover()
  })

  it("shows the pause in readiness, metrics and one log line with the remedy", async () => {
    await timeOut(6)
    expect(await readiness()).to.deep.equal({ status: "ready", paused_destinations: 1 })
    expect(await metric("millrace_breakers_open")).to.match(/ 1$/)
    const lines = host.logged.map((line) => JSON.parse(line) as Record<string, string>)
    const opened = lines.filter(({ msg }) => msg?.startsWith("calls to the destination are paused"))
    expect(opened.at(-1)).to.include({ destination: "silent.example.com", organization: host.organization.id })
    expect(opened.at(-1)?.["msg"]).to.include("check that it is up")
    await recover()
    expect(await readiness()).to.deep.equal({ status: "ready" })
    expect(await metric("millrace_breakers_open")).to.equal(undefined)
  })

  it("probes with one call, and pauses longer after each probe without an answer", async () => {
    await timeOut(5)
    let paused = 5_000
    for (let probe = 0; probe < 3; probe++) {
      host.clock.move(paused)
      requests.length = 0
      const probing = failureOf(call("https://silent.example.com/"))
      await until(() => requests.length === 1)
      expect((await failureOf(call("https://silent.example.com/"))).details).to.include({ reason: "destination_paused" })
      host.clock.move(20_000)
      expect((await probing).code).to.equal("deadline_exceeded")
      host.clock.move(paused)
      expect((await failureOf(call("https://silent.example.com/"))).details).to.include({ reason: "destination_paused" })
      paused *= 2
    }
    await recover()
    await Promise.all([1, 2, 3].map(() => call("https://silent.example.com/")))
  })

  it("keeps calling a host that answers other calls meanwhile", async () => {
    const hanging = Array.from({ length: 8 }, () => failureOf(call("https://silent.example.com/slow")))
    await until(() => requests.length === 8)
    isSilent = false
    await call("https://silent.example.com/quick")
    host.clock.move(20_000)
    await Promise.all(hanging)
    await call("https://silent.example.com/quick")
    expect(await readiness()).to.deep.equal({ status: "ready" })
  })

  it("tells of the silence before any deadline passes", async () => {
    const hanging = failureOf(call("https://silent.example.com/", { timeoutMs: 100_000 }))
    await until(() => requests.length === 1)
    host.clock.move(15_000)
    const value = (await metric("millrace_destination_silent_seconds"))?.split(" ").at(-1)
    expect(Number(value)).to.be.at.least(15)
    expect(host.logged.some((line) => line.includes("the destination does not answer") && line.includes("silent.example.com"))).to.equal(
      true,
    )
    host.clock.move(100_000)
    await hanging
  })
})

describe("connections of outgoing calls", () => {
  const calling = async (peer: Peer) => {
    const env = { MILLRACE_OUTGOING_ALLOW_HOSTS: `127.0.0.1:${peer.port}`, MILLRACE_OUTGOING_TIMEOUT_MS: "60000" }
    const host = await testHost({ capture: false, env })
    return [host, host.get(OutgoingHttp)] as const
  }

  it("belong to one organization, also at the same host", async () => {
    const peer = await listen(({ url }, response) => {
      if (url !== "/silent") response.end("answered")
    })
    const [host, client] = await calling(peer)
    const stop = new AbortController()
    const hanging = Array.from({ length: 60 }, () =>
      failureOf(client.fetch({ url: `${peer.origin}/silent`, organization: "bravo", signal: stop.signal })),
    )
    await until("all connections of one organization", () => peer.asked.length === 32)
    const { text } = await client.fetch({ url: `${peer.origin}/quick`, organization: "charlie" })
    expect(text).to.equal("answered")
    stop.abort()
    await Promise.all(hanging)
    await host.stop()
    await peer.close()
  })

  it("are bounded in total, and leave some to organizations without a call", async () => {
    const peer = await listen(({ url }, response) => {
      if (url !== "/silent") response.end("answered")
    })
    const [host, client] = await calling(peer)
    const stop = new AbortController()
    const hanging = Array.from({ length: 400 }, () =>
      failureOf(client.fetch({ url: `${peer.origin}/silent`, organization: "bravo", signal: stop.signal })),
    )
    const { text } = await client.fetch({ url: `${peer.origin}/quick`, organization: "charlie" })
    expect(text).to.equal("answered")
    stop.abort()
    const refused = (await Promise.all(hanging)).filter(({ details }) => details?.["reason"] === "overloaded")
    expect(refused.length).to.equal(400 - 192)
    await host.stop()
    await peer.close()
  })
})
