// Settings that bound a service. Each takes effect, and only for its subject.
import { expect } from "chai"
import { io, type Socket } from "socket.io-client"
import { UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { ApiKeys, Organizations } from "../../plugins/platform/organizations/index.ts"
import { listen, type Peer } from "../plugins/outgoing-http/loopback-peer.ts"
import { ShiftedClock } from "../shifted-clock.ts"
import { patiently, until } from "../waiting.ts"

interface Made {
  readonly slug: string
  readonly endpoint_id: string
  readonly inbound_url: string
}

const dayMs = 86_400_000

describe("settings of a service", () => {
  let host: TestHost
  /**
   * Its clock is stopped and its calls time out early, so a paused machine refills no quota. The other service's calls do not
   * time out.
   */
  let hurried: TestHost
  let peer: Peer
  /** Delayed answers of the peer. */
  const closers: (() => void)[] = []
  const sockets: Socket[] = []
  before(async () => {
    peer = await listen(({ url }, response) => {
      if (url === "/held") closers.push(() => response.end("{}"))
      else if (url === "/large") response.end("x".repeat(3_000))
      else if (url === "/small") response.end("{}")
    })
    host = await testHost({
      capture: false,
      env: {
        MILLRACE_INBOUND_MAX_IN_FLIGHT_PER_ORGANIZATION: "2",
        MILLRACE_LIVE_KEEP_MESSAGES: "3",
        MILLRACE_LIVE_ANONYMOUS_PER_ADDRESS: "1",
        MILLRACE_OUTGOING_ALLOW_HOSTS: `127.0.0.1:${peer.port}`,
        MILLRACE_OUTGOING_MAX_RESPONSE_BYTES: "2000",
        MILLRACE_RETENTION_ENTRIES_DAYS: "2",
        MILLRACE_RETENTION_PAYLOADS_DAYS: "1",
      },
    })
    const clock = new ShiftedClock()
    clock.stand()
    hurried = await testHost({
      capture: false,
      clock,
      env: {
        MILLRACE_OUTGOING_ALLOW_HOSTS: `127.0.0.1:${peer.port}`,
        MILLRACE_OUTGOING_TIMEOUT_MS: "300",
        MILLRACE_RATE_LIMITS_ADDRESS_PER_MINUTE: "4",
      },
    })
  })
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.close()
  })
  after(async () => {
    await host.stop()
    await hurried.stop()
    await peer.close()
  })

  async function make(name: string, steps: readonly object[], key?: string, on = host): Promise<Made> {
    const document = { name, state: "active", auth_mode: "none", pipeline: steps }
    const response = await on.api<Made>("POST", "/v1/event-pipelines", document, key === undefined ? {} : { key })
    expect(response.status, JSON.stringify(response.body)).to.equal(200)
    return response.body
  }
  /** Returns the failure of the step in the pipeline's only event. */
  async function failure({ slug }: Made, on = host): Promise<string> {
    const { body } = await on.api<{ executions: { id: string }[] }>("GET", `/v1/event-pipelines/${slug}/executions`)
    const entry = await on.api("GET", `/v1/event-pipelines/${slug}/executions/${body.executions[0]?.id}`)
    return JSON.stringify(entry.body["steps"])
  }
  const call = (path: string, more: object = {}) => ({
    id: "ask",
    type: "http.request",
    method: "GET",
    url: peer.origin + path,
    await: true,
    ...more,
  })
  const details = ({ body }: { body: Record<string, unknown> }) => (body["details"] ?? {}) as Record<string, unknown>

  it("inbound.max_in_flight_per_organization turns away one organization's third event, and nobody else's", async () => {
    const other = await host.get(UnitsOfWork).run(async (work) => {
      const organizations = host.get(Organizations)
      const { id } = await organizations.create(work, { name: "Other", slug: "other" })
      const owner = organizations.addUser(work, { email: "owner@other.test", name: "Other" })
      organizations.addMember(work, id, owner.id, "owner")
      return host.get(ApiKeys).mint(work, id, { name: "Key", kind: "api_key", role: "owner", scopes: null, user: owner.id }).text
    })
    const waiting = [call("/held", { timeout_ms: 60_000 })]
    const [mine, theirs] = [await make("Waiting", waiting), await make("Waiting", waiting, other)]
    const inFlight = [host.send(mine, {}), host.send(mine, {})]
    await until("both events being in progress", () => closers.length === 2)
    const third = await host.send(mine, {})
    expect(third.status).to.equal(429)
    expect(third.headers.get("retry-after")).to.match(/^\d+$/)
    inFlight.push(host.send(theirs, {}))
    await until("the other organization's event being in progress", () => closers.length === 3)
    for (const release of closers.splice(0)) release()
    expect((await Promise.all(inFlight)).map(({ status }) => status)).to.deep.equal([200, 200, 200])
  })

  it("outgoing.timeout_ms ends a call that takes longer", async () => {
    const never = await make("Unanswered", [call("/never")], hurried.adminKey, hurried)
    expect((await hurried.send(never, {})).status).to.equal(500)
    expect(await failure(never, hurried)).to.include("deadline_exceeded")
  })

  it("outgoing.max_response_bytes ends a call whose answer is longer", async () => {
    const [large, small] = [await make("Large", [call("/large")]), await make("Small", [call("/small")])]
    expect((await host.send(large, {})).status).to.equal(500)
    expect(await failure(large)).to.include("2000 bytes")
    expect((await host.send(small, {})).status).to.equal(200)
  })

  it("live.anonymous_per_address refuses a second socket without a credential, and none with one", async () => {
    const { endpoint_id } = await make("Watched", [{ type: "live.broadcast", channel: "news" }])
    const dial = (auth: Record<string, unknown>) => {
      const socket = io(host.url, { path: "/live", auth, reconnection: false, forceNew: true, transports: ["websocket"] })
      sockets.push(socket)
      return new Promise<string>((resolve) => {
        socket.on("connect", () => resolve("connected"))
        socket.on("connect_error", (error) => resolve((error as { data?: { code: string } }).data?.code ?? error.message))
      })
    }
    expect(await dial({ endpoint_id })).to.equal("connected")
    expect(await dial({ endpoint_id })).to.equal("resource_exhausted")
    expect(await dial({ token: host.adminKey })).to.equal("connected")
  })

  it("live.keep_messages are those that can be caught up on; more is told as truncated", async () => {
    const pipeline = await make("Told", [{ type: "live.broadcast", channel: "told", data: { n: "{{ event.n }}" } }])
    const messages: { id: string; data: { n: number } }[] = []
    const dial = async () => {
      const socket = io(host.url, {
        path: "/live",
        auth: { token: host.adminKey },
        reconnection: false,
        forceNew: true,
        transports: ["websocket"],
      })
      sockets.push(socket)
      socket.on("message", (message: (typeof messages)[number]) => messages.push(message))
      await new Promise((resolve) => socket.on("connect", () => resolve(undefined)))
      return socket
    }
    const first = await dial()
    await first.emitWithAck("subscribe", { channel: "told" })
    for (let n = 1; n <= 6; n++) expect((await host.send(pipeline, { n })).status).to.equal(200)
    await until("all six messages", () => messages.length === 6)
    const [{ id = "" } = {}] = messages.splice(0)
    const again = await dial()
    expect(await again.emitWithAck("subscribe", { channel: "told", after: id })).to.deep.equal({ ok: true, truncated: true })
    await until("what is kept", () => messages.length === 3)
    expect(messages.splice(0).map(({ data }) => data.n)).to.deep.equal([4, 5, 6])
  })

  it("rate_limits.address_per_minute bounds refused credentials, and no key that holds", async () => {
    const ask = (key: string) => hurried.api("GET", "/v1/me", undefined, { key })
    const answers = [await ask("none"), await ask("none"), await ask("none"), await ask("none"), await ask("none")]
    expect(answers.map(({ status }) => status)).to.deep.equal([401, 401, 401, 401, 429])
    expect(answers.map(details).at(-1)).to.include({ reason: "rate_limited", quota: "address", limit: 4 })
    expect((await ask(hurried.adminKey)).status).to.equal(200)
  })

  it("retention.payloads_days and retention.entries_days remove payloads, then entries", async () => {
    const pipeline = await make("Kept", [{ type: "respond", status: 201 }])
    const { status } = await host.send(pipeline, { n: 1 })
    expect(status).to.equal(201)
    const path = `/v1/event-pipelines/${pipeline.slug}/executions`
    const entries = async () => (await patiently(() => host.api<{ executions: { id: string }[] }>("GET", path))).body.executions
    const [entry] = await entries()
    const payload = () => patiently(() => host.api("GET", `${path}/${entry?.id}/payload`))
    expect((await payload()).status).to.equal(200)
    host.clock.move(dayMs + 60_000)
    const deleted = await until("the payload's end", async () => {
      const answer = await payload()
      return answer.status !== 200 && answer
    })
    expect([deleted.status, deleted.body["code"]]).to.deep.equal([400, "failed_precondition"])
    expect(
      (await entries()).map(({ id }) => id),
      "the entry outlives its payload",
    ).to.deep.equal([entry?.id])
    host.clock.move(dayMs)
    await until("the entry's end", async () => (await entries()).length === 0)
  })
})
