// The client against a real service: typed calls, pages, streams, errors, and lost answers.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { ClientError, type ClientOptions, type ErrorCode, type InputOf, millrace, type Operations } from "../../client/index.ts"
import { cuttingProxy } from "./cutting-proxy.ts"

type Refused = ClientError & { attempts: number }

describe("client", () => {
  let host: TestHost
  before(async () => {
    host = await testHost()
  })
  after(() => host.stop())

  const retries = { firstDelayMs: 1, maxDelayMs: 2 }
  const clientOf = (options: Partial<ClientOptions> = {}) => millrace({ baseUrl: host.url, key: host.adminKey, retries, ...options })
  const failure = async (call: Promise<unknown>): Promise<Refused> => {
    const error = await call.then(
      () => undefined,
      (cause: unknown) => cause,
    )
    expect(error).to.be.instanceOf(ClientError)
    return error as Refused
  }
  /** A fetch without an answer until it is aborted. */
  const unanswered: typeof fetch = (_input, init) =>
    new Promise((_resolve, reject) => init?.signal?.addEventListener("abort", ({ target }) => reject((target as AbortSignal).reason)))
  /** A fetch with lost answers, or without sending. */
  function lossy(plan: ("lose answer" | "refuse" | Response)[]) {
    const requests: { method: string; key: string | null }[] = []
    const through: typeof fetch = async (input, init) => {
      requests.push({ method: init?.method ?? "", key: new Headers(init?.headers).get("idempotency-key") })
      const next = plan.shift()
      if (next instanceof Response) return next
      if (next === "refuse") throw new TypeError("fetch failed")
      const response = await fetch(input, init)
      if (next !== "lose answer") return response
      await response.arrayBuffer()
      throw new TypeError("terminated")
    }
    return { fetch: through, sent: requests }
  }

  it("calls operations by area and verb, typed by their schemas", async () => {
    const client = clientOf()
    const me = await client.me.get()
    expect(me.organization?.slug).to.equal("default")
    const role: "guest" | "member" | "admin" | "owner" | null = me.role
    expect(role).to.equal("owner")
    const created = await client.datasets.create({ name: "Typed", class: "table" })
    expect(created.revision).to.equal(1)
    const same = await client.call("datasets.get", { slug: created.slug })
    expect(same.id).to.equal(created.id)
    // Must not compile:
    const input: InputOf<Operations["datasets.list_rows"]> = { slug: "typed", limit: 5 }
    expect(input.limit).to.equal(5)
    // @ts-expect-error a class that there is not
    void (() => client.datasets.create({ name: "x", class: "tabel" }))
    // @ts-expect-error an input that is required
    void (() => client.datasets.get())
    // @ts-expect-error a field that an answer has not
    void (() => created.sluug)
    // @ts-expect-error an area that there is not
    void (() => client.datsets)
    // @ts-expect-error pages of what is not a list
    void (() => client.me.get.pages())
  })

  it("reads lists page by page and item by item, no page sooner than needed", async () => {
    const { fetch: through, sent: requests } = lossy([])
    const client = clientOf({ fetch: through })
    await client.datasets.create({ name: "Paged" })
    await client.datasets.insertRows({ slug: "paged", rows: Array.from({ length: 25 }, (_, n) => ({ n })) })
    requests.length = 0
    const received: unknown[] = []
    for await (const { values } of client.datasets.listRows.each({ slug: "paged", limit: 10, sort: "n" })) {
      received.push(values["n"])
      if (received.length === 12) break
    }
    expect(received).to.deep.equal(Array.from({ length: 12 }, (_, n) => n))
    expect(requests).to.have.length(2)
    const sizes: number[] = []
    for await (const { rows } of client.datasets.listRows.pages({ slug: "paged", limit: 10 })) sizes.push(rows.length)
    expect(sizes).to.deep.equal([10, 10, 5])
    const slugs: string[] = []
    for await (const { slug } of client.datasets.list.each({ limit: 1 })) slugs.push(slug)
    expect(slugs).to.have.length((await client.datasets.list()).total)
    expect(new Set(slugs).size).to.equal(slugs.length)
  })

  it("streams exports, and fails where one is cut short", async () => {
    const client = clientOf()
    await client.datasets.create({ name: "Large" })
    const text = "x".repeat(2_000)
    for (let n = 0; n < 3; n++)
      await client.datasets.insertRows({ slug: "large", rows: Array.from({ length: 300 }, (_, row) => ({ n: n * 300 + row, text })) })
    const stream = await client.datasets.export({ slug: "large", format: "ndjson" })
    expect([stream.contentType, stream.fileName]).to.deep.equal(["application/x-ndjson", "large.ndjson"])
    expect((await stream.text()).trim().split("\n")).to.have.length(900)
    const proxy = await cuttingProxy(host.url)
    try {
      // A compressed answer would be too small to cut.
      proxy.cutAfter([600])
      const cut = await failure(
        clientOf({ baseUrl: proxy.url })
          .datasets.export({ slug: "large" })
          .then((clientStream) => clientStream.text()),
      )
      expect(cut).to.deep.include({ code: "unavailable" })
      expect(cut.details.reason).to.equal("response_truncated")
    } finally {
      await proxy.close()
    }
  })

  it("throws the service's own errors, with every field that was wrong", async () => {
    const client = clientOf()
    const refused = await failure(client.datasets.create({ name: "", slug: "Bad Slug" }))
    expect(refused).to.deep.include({ code: "invalid_argument", status: 400 })
    expect(refused.details.fields?.map(({ path }) => path)).to.deep.equal(["name", "slug"])
    expect(refused.requestId).to.match(/^[0-9a-f-]{36}$/)
    const proxied = async () => new Response("<h1>Bad Gateway</h1>", { status: 502 })
    const codes: [() => Promise<unknown>, ErrorCode, string][] = [
      [() => client.datasets.get({ slug: "none" }), "not_found", "dataset_not_found"],
      [() => client.datasets.get({ slug: "" }), "invalid_argument", "invalid_fields"],
      [() => client.datasets.get({ slug: ".." }), "invalid_argument", "invalid_fields"],
      [() => client.datasets.get({ slug: "a/../b?c#d" }), "not_found", "dataset_not_found"],
      [() => client.datasets.get({ slug: "\ud800" }), "invalid_argument", "invalid_fields"],
      [() => client.datasets.list({}, { organization: "somebody-else" }), "not_found", "organization_not_accessible"],
      [() => clientOf({ key: "mr_api_no" }).me.get(), "unauthenticated", "malformed_credential"],
      [() => clientOf({ baseUrl: "http://127.0.0.1:1", retries: { attempts: 1 } }).me.get(), "unavailable", "no_response"],
      [() => client.me.get({}, { signal: AbortSignal.abort() }), "canceled", "client_canceled"],
      [() => clientOf({ fetch: unanswered }).me.get({}, { timeoutMs: 1 }), "deadline_exceeded", "client_timeout"],
      [() => client.call("none.such" as "me.get", {}), "unimplemented", "unknown_operation"],
      [() => clientOf({ fetch: proxied, retries: { attempts: 1 } }).me.get(), "unavailable", "unrecognized_response"],
    ]
    for (const [call, code, reason] of codes) {
      const error = await failure(call())
      expect([error.code, error.details.reason], String(call)).to.deep.equal([code, reason])
    }
    expect(() => clientOf({ baseUrl: "millrace" }))
      .to.throw(ClientError)
      .that.deep.includes({ code: "invalid_argument", details: { reason: "invalid_base_url" } })
  })

  it("sends a lost POST again with the same key, and it is done once", async () => {
    const { fetch: through, sent: requests } = lossy(["lose answer", "refuse"])
    const waits: string[] = []
    const client = clientOf({ fetch: through, onRetry: ({ operation, error }) => waits.push(`${operation} ${error.code}`) })
    await client.datasets.create({ name: "Once" })
    expect(requests).to.have.length(3)
    expect(new Set(requests.map(({ key }) => key)).size).to.equal(1)
    expect(requests[0]?.key).to.match(/^[0-9a-f]{32}$/)
    expect(waits).to.deep.equal(["datasets.create unavailable", "datasets.create unavailable"])
    const { datasets } = await clientOf().datasets.list()
    expect(datasets.filter(({ name }) => name === "Once")).to.have.length(1)
    await client.datasets.create({ name: "Twice" })
    expect(requests.at(-1)?.key).to.not.equal(requests[0]?.key)
  })

  it("says so when the answer that got lost was the one with the secret", async () => {
    const { fetch: through, sent: requests } = lossy(["lose answer"])
    const lost = await failure(clientOf({ fetch: through }).apiKeys.create({ name: "Lost" }))
    expect(lost).to.deep.include({ code: "data_loss" })
    expect(lost.details.reason).to.equal("secret_lost")
    expect(requests).to.have.length(2)
    const { api_keys } = await clientOf().apiKeys.list()
    expect(api_keys.filter(({ name }) => name === "Lost")).to.have.length(1)
  })

  it("does not send again what may not be done twice, nor what was refused", async () => {
    const delivered = lossy(["lose answer"])
    const call = failure(clientOf({ fetch: delivered.fetch }).integrations.disconnect({ id: "none" }))
    expect((await call).code).to.equal("unavailable")
    expect(delivered.sent).to.have.length(1)
    const refused = lossy([])
    await failure(clientOf({ fetch: refused.fetch }).datasets.get({ slug: "none" }))
    expect(refused.sent).to.have.length(1)
  })

  it("waits as long as it is asked to, and gives up where that is too long", async () => {
    const limited = (seconds: string) =>
      new Response(JSON.stringify({ code: "resource_exhausted", message: "Too often.", details: { reason: "rate_limited" } }), {
        status: 429,
        headers: { "retry-after": seconds },
      })
    const delays: number[] = []
    const soon = lossy([limited("1")])
    await clientOf({ fetch: soon.fetch, onRetry: ({ delayMs }) => delays.push(delayMs) })
      .integrations.disconnect({ id: "none" })
      .catch(() => {})
    expect(delays[0]).to.be.within(1_000, 1_010)
    expect(soon.sent).to.have.length(2)
    const late = lossy([limited("3600")])
    const error = await failure(clientOf({ fetch: late.fetch }).me.get())
    expect([error.code, error.retryAfterS, late.sent.length]).to.deep.equal(["resource_exhausted", 3_600, 1])
    const gateway = lossy([new Response("<html>Bad gateway</html>", { status: 502 })])
    expect((await clientOf({ fetch: gateway.fetch }).me.get()).role).to.equal("owner")
    const page = lossy([new Response("<html>Hello</html>")])
    expect((await failure(clientOf({ fetch: page.fetch }).me.get())).details.reason).to.equal("not_json")
  })
})
