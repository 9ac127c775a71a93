// Floods of one organization's pipelines beside another's events and documents, over the public endpoints. The other organization
// has no failures and timely answers.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { runningMs } from "../../slowness.ts"
import { expectWithin, isSoak } from "../../tier.ts"
import { Bench, type Made, post } from "../bench.ts"

/** With one turn for each of these before the next turn of the other organization, it would not be answered ten times. */
const pipelines = isSoak ? 350 : 24
const documents = isSoak ? 40 : 16

describe("a flood of many pipelines", () => {
  let host: TestHost
  let quietUrl: string
  let quietKey: string

  before(async function () {
    this.timeout(900_000)
    // Measures turns, so it uses its own processes, as a service does.
    host = await testHost({ ownSandbox: true, env: { MILLRACE_SERVER_DRAIN_MS: "100" } })
    quietKey = await host.get(UnitsOfWork).run((work) => {
      const organizations = host.get(Organizations)
      const { id } = organizations.create(work, { name: "Quiet", slug: "quiet" })
      const owner = organizations.addUser(work, { email: "owner@quiet.test", name: "Quiet" })
      organizations.addMember(work, id, owner.id, "owner")
      return host.get(ApiKeys).mint(work, id, { name: "Key", kind: "api_key", role: "owner", scopes: null, user: owner.id }).text
    })
    const document = { ...documentOf("function transform(event) { return { n: event.n + 1 } }"), name: "Quiet" }
    const response = await host.api<Made>("POST", "/v1/event-pipelines", document, { key: quietKey })
    expect(response.status).to.equal(200)
    quietUrl = response.body.inbound_url
  })
  after(() => host.stop())

  const documentOf = (transform_js: string) => ({
    state: "active",
    auth_mode: "none",
    transform_js,
    pipeline: [{ type: "respond", status: 200, body: { n: "{{ event.n }}" } }],
  })

  const floods: Record<string, { transform: string; events: number }> = {
    "that never end": { transform: "function transform() { for (;;); }", events: 1 },
    "that take 40 ms": { transform: "function transform(event) { let n = 0; while (n < 4e7) n++; return { n } }", events: 3 },
  }
  for (const [name, { transform, events }] of Object.entries(floods)) {
    it(`${name} leaves another organization its turns`, async function () {
      this.timeout(900_000)
      const bench = new Bench(host)
      const urls: string[] = []
      for (let i = 0; i < pipelines; i++) urls.push((await bench.make({ ...documentOf(transform), name: `${name} ${i}` })).inbound_url)
      let flooding = urls.length * events
      const flood = urls.flatMap((url) => Array.from({ length: events }, () => post(url, { n: 1 }).finally(() => flooding--)))
      const waits: number[] = []
      let requestCount = 0
      while (flooding > 0) {
        waits.push(
          await runningMs(async () => {
            const { status, body } = await post(quietUrl, { n: requestCount++ })
            expect([status, body]).to.deep.equal([200, { n: requestCount }])
          }),
        )
      }
      await Promise.all(flood)
      console.log(`      ${waits.length} answers, slowest ${Math.max(...waits).toFixed(0)} ms`)
      expect(waits.length).to.be.greaterThan(10)
      expectWithin(1_000, Math.max(...waits), "the slowest answer to the quiet organization")
    })
  }

  it("of slow schemas leaves another organization its turn to have a document checked", async function () {
    this.timeout(900_000)
    const properties = Object.fromEntries(
      Array.from({ length: 1_400 }, (_, i) => [
        `p${i}`,
        {
          anyOf: [
            { type: "string", pattern: `^${i}` },
            { type: "integer", minimum: i },
          ],
        },
      ]),
    )
    let answered = 0
    const check = (request_schema: object, key?: string) =>
      host.api<{ ok: boolean }>(
        "POST",
        "/v1/event-pipelines/validate",
        {
          document: { name: "Checked", auth_mode: "none", request_schema, pipeline: [{ type: "respond", body: {} }] },
        },
        key === undefined ? {} : { key },
      )
    const flood = Array.from({ length: documents }, (_, i) => check({ title: `slow ${i}`, properties }).finally(() => answered++))
    for (let i = 0; i < 5; i++) {
      const before = answered
      const ms = await runningMs(async () => {
        const { status, body } = await check({ type: "object", title: `quick ${i}` }, quietKey)
        expect([status, body.ok]).to.deep.equal([200, true])
      })
      expect(answered - before).to.be.at.most(2)
      expectWithin(1_000, ms, "the answer to the quiet organization")
    }
    // The remaining requests end with the service.
    expect(answered).to.be.below(documents)
    void Promise.allSettled(flood)
  })
})
