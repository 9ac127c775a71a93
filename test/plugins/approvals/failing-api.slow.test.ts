// An approved call of a connected app, with an API that fails between the decision and the end. Temporary failures are retried
// under the same key, permanent failures are not. The approval has the cause.
import type { ServerResponse } from "node:http"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { untilProcess as until } from "../../waiting.ts"
import { listen, type Peer } from "../outgoing-http/loopback-peer.ts"

type Answer = (response: ServerResponse) => unknown
interface Approval {
  readonly state: string
  readonly receipt: { ok: boolean; result: { body: unknown } | null; error: { message: string; reason: string } | null } | null
}

const secret = "failing-api-SECRET-77ab"
const deadPort = 1

const passing: Record<string, Answer> = {
  "closes without an answer": (response) => response.destroy(),
  "closes within the answer": (response) => response.writeHead(200, { "content-length": "99" }).write("{", () => response.destroy()),
  "answers 500 with a page": (response) => response.writeHead(500, { "content-type": "text/html" }).end(`<p>${secret}`),
  "answers 503 and nothing": (response) => response.writeHead(503).end(),
  "answers what is not HTTP": (response) => response.socket?.end("220 mail.example.com ESMTP\r\n"),
}
/** Ended only by the time limit of calls. */
const silent: Record<string, Answer> = {
  "does not answer": () => undefined,
  "stops within the answer": (response) => response.writeHead(200, { "content-length": "99" }).write("{"),
}
const lasting: Record<string, [Answer, string]> = {
  "answers 400": [(response) => response.writeHead(400).end(secret), "unexpected_status"],
  "answers 404 with a page": [(response) => response.writeHead(404, { "content-type": "text/html" }).end("<p>Gone"), "unexpected_status"],
  "leads elsewhere": [(response) => response.writeHead(307, { location: "http://elsewhere.example/" }).end(), "cross_origin_redirect"],
  "answers what cannot be decompressed": [
    (response) => response.writeHead(200, { "content-encoding": "gzip" }).end("{}"),
    "invalid_encoding",
  ],
  "answers too much": [(response) => response.end("x".repeat(3_000_000)), "response_too_large"],
}

/** Registers the hooks of a describe with its own service and API. */
function callsOf(env: Readonly<Record<string, string>> = {}) {
  let api: Peer
  let host: TestHost
  let key: string
  let first: Answer | undefined
  const respondJson = (response: ServerResponse) => response.setHeader("content-type", "application/json").end('{"id":"c-1"}')
  before(async () => {
    api = await listen((_asked, response) => {
      const answer = first ?? respondJson
      first = undefined
      answer(response)
    })
    host = await testHost({
      capture: false,
      env: {
        MILLRACE_OUTGOING_ALLOW_HOSTS: `127.0.0.1:${api.port},127.0.0.1:${deadPort}`,
        MILLRACE_OUTGOING_MAX_RESPONSE_BYTES: "1000000",
        MILLRACE_JOBS_POLL_MS: "20",
        ...env,
      },
    })
    key = (await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "second", role: "admin" })).body.secret
    for (const [name, base_url] of [
      ["CRM", api.origin],
      ["Down", `http://127.0.0.1:${deadPort}`],
    ]) {
      const credentials = { base_url, headers: { Authorization: `Bearer ${secret}` } }
      await host.api("POST", "/v1/integrations-connect", { app: "http", name, share_with_org: true, credentials })
    }
  })
  beforeEach(() => {
    api.asked.length = 0
    first = undefined
  })
  after(async () => {
    await host.stop()
    await api.close()
  })

  let count = 0
  const approved = async (integration: string, max_attempts = 6) => {
    const call = { id: "make", type: "integration.call", gate: true, integration, path: "/contacts", body: { email: "{{ event.email }}" } }
    const pipeline = [{ ...call, retry: { max_attempts, initial_delay_ms: 10, factor: 1 } }]
    const document = { name: `Make ${++count}`, state: "active", auth_mode: "none", pipeline }
    const { body: inbound } = await host.api<{ slug: string; inbound_url: string }>("POST", "/v1/event-pipelines", document)
    const { body } = await host.send<{ execution_id: string }>(inbound, { email: "ada@example.com" })
    const path = `/v1/event-pipelines/${inbound.slug}/executions/${body.execution_id}`
    const id = await until("the step to wait", async () => {
      return (await host.api<{ steps: Record<string, { approval_id?: string }> }>("GET", path)).body.steps["make"]?.approval_id
    })
    expect(api.asked, "nothing before the decision").to.deep.equal([])
    expect((await host.api("POST", `/v1/approvals/${id}/decide`, { decision: "approve" }, { key })).status).to.equal(200)
    return { id, path }
  }
  const ended = (id: string, state: string) =>
    until(`the approval to be ${state}`, async () => {
      const { body } = await host.api<Approval>("GET", `/v1/approvals/${id}`)
      expect(JSON.stringify(body)).not.to.contain(secret)
      return body.state === state && body.receipt ? body.receipt : undefined
    })

  const failFirst = (answer: Answer) => {
    first = answer
  }
  const isAskedAgain = async (answer: Answer) => {
    failFirst(answer)
    const { id } = await approved("crm")
    const { result } = await ended(id, "done")
    expect(result?.body).to.deep.equal({ id: "c-1" })
    expect(api.asked.length).to.be.greaterThan(1)
    expect(new Set(api.asked.map(({ headers, body }) => `${headers["idempotency-key"]} ${body}`)).size).to.equal(1)
  }
  return {
    approved,
    ended,
    failFirst,
    isAskedAgain,
    calls: () => api.asked.length,
    stepAt: async (path: string) => JSON.stringify((await host.api<{ steps: Record<string, unknown> }>("GET", path)).body.steps["make"]),
    logged: () => host.logged.join("\n"),
  }
}

describe("an approved call of an app, whose API", () => {
  const { approved, ended, failFirst, isAskedAgain, calls, stepAt, logged } = callsOf()

  for (const [what, answer] of Object.entries(passing)) it(`${what}, is asked again under the same key`, () => isAskedAgain(answer))

  for (const [what, [answer, reason]] of Object.entries(lasting))
    it(`${what}, is not asked again, and the approval says why`, async () => {
      failFirst(answer)
      const { error } = await ended((await approved("crm")).id, "failed")
      expect([error?.reason, calls()]).to.deep.equal([reason, 1])
    })

  it("answers JSON that ends early, is asked once, and the result has the text", async () => {
    failFirst((response) => response.setHeader("content-type", "application/json").end('{"id": "c-'))
    const { result } = await ended((await approved("crm")).id, "done")
    expect([result?.body, calls()]).to.deep.equal(['{"id": "c-', 1])
  })

  it("is not there, is given up with a reason", async () => {
    const { id, path } = await approved("down", 2)
    const { error } = await ended(id, "failed")
    expect(error?.reason).to.equal("connection_failed")
    expect(await stepAt(path))
      .to.contain("ECONNREFUSED")
      .and.not.to.contain(secret)
  })

  it("is told no secret of in any log", () => {
    expect(logged()).not.to.contain(secret)
  })
})

describe("an approved call of an app, whose API keeps silent and", () => {
  const { isAskedAgain, logged } = callsOf({ MILLRACE_OUTGOING_TIMEOUT_MS: "1500" })

  for (const [what, answer] of Object.entries(silent)) it(`${what}, is asked again under the same key`, () => isAskedAgain(answer))

  it("is told no secret of in any log", () => {
    expect(logged()).not.to.contain(secret)
  })
})
