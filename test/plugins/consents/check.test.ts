// The check whether a person may be messaged agrees with the result of sending, after any history.
import { expect } from "chai"
import fc from "fast-check"
import { z } from "zod"
import { definePlugin } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { ConsentRules } from "../../../plugins/people/consents/index.ts"
import { OutboundVetoes } from "../../../plugins/people/conversations/index.ts"
import { isSoak, seed } from "../../tier.ts"
import { patiently, until } from "../../waiting.ts"
import { connect, type Providers, providerEnv, startProviders } from "../conversations/providers.ts"
import { chatMessage, type Endpoints, makePipelines, own, postMeta, postTwilio } from "../conversations/webhooks.ts"

const noon = Date.parse("2026-11-24T12:00:00Z")
const [minute, hour] = [60_000, 3_600_000]
const bare = "+493012345699"

/** A rule and a veto of another area, each for numbers with a certain last digit. */
const others = definePlugin({
  id: "test-others",
  needs: ["consents", "conversations"],
  config: z.strictObject({}),
  extend: [
    [OutboundVetoes, async (_, { address }) => (address.endsWith("8") ? { by: "test", why: "they asked us in person." } : undefined)],
    [
      ConsentRules,
      async ({ person }) =>
        person.value.endsWith("9") ? { rule: "test", verdict: "forbids", why: "they are on holiday.", evidence: {} } : undefined,
    ],
  ],
  register: () => undefined,
})

/** Possible history before the check. */
const happening = fc.oneof(
  fc.record({
    does: fc.constant("writes" as const),
    channel: fc.constantFrom("chat_app", "sms"),
    body: fc.constantFrom("Hi", "STOP", "START"),
    hoursAgo: fc.constantFrom(0, 2, 23, 25),
  }),
  fc.record({
    does: fc.constant("consents" as const),
    kind: fc.constantFrom("given", "withdrawn"),
    channel: fc.constantFrom("all", "sms", "chat_app"),
    purpose: fc.constantFrom("all", "marketing", "service"),
  }),
  fc.record({ does: fc.constant("is sent" as const), channel: fc.constantFrom("chat_app", "sms") }),
  fc.record({ does: fc.constant("is erased" as const) }),
  fc.record({ does: fc.constant("lives" as const), time_zone: fc.constantFrom("Asia/Tokyo", "America/New_York", "Europe/Berlin") }),
)
const inputs = fc.record({
  channel: fc.constantFrom("chat_app" as const, "sms" as const),
  from: fc.constantFrom(own, own, own, bare),
  template: fc.constantFrom(undefined, undefined, "offer", "notice", "paused", "unheard_of"),
})

type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never
type Question = typeof inputs extends fc.Arbitrary<infer T> ? T : never

interface Checked {
  readonly allowed: boolean
  readonly addresses: { rules: { rule: string; verdict: string }[] }[]
}

describe("asking whether a person may be written to", () => {
  let host: TestHost
  let providers: Providers
  let urls: Endpoints
  let count = 0
  before(async () => {
    providers = await startProviders()
    host = await testHost({ capture: false, plugins: [others], env: providerEnv(providers) })
    urls = await makePipelines(host)
    await connect(host, providers)
    await host.api("POST", "/v1/voice/phone-numbers", { number: bare })
    providers.templates = [
      { name: "offer", category: "MARKETING", status: "APPROVED", language: "en_US" },
      { name: "notice", category: "UTILITY", status: "APPROVED", language: "en_US" },
      { name: "paused", category: "UTILITY", status: "PAUSED", language: "en_US" },
    ]
    const path = `/v1/voice/phone-numbers/${encodeURIComponent(own)}/templates`
    await host.api("POST", path, {})
    await until("the templates", async () => (await host.api<{ templates: object[] }>("GET", path)).body.templates.length === 3)
    host.clock.set(noon)
  })
  after(async () => {
    await host.stop()
    await providers.close()
  })

  const call = <T = Record<string, unknown>>(method: string, path: string, body: object) => patiently(() => host.api<T>(method, path, body))

  it("is answered yes where a message is taken then, and no where it is refused", async () => {
    const visited = new Set<string>()
    const draw = fc.tuple(
      fc.constantFrom("+49151", "+49151", "+1415", "+521551"),
      fc.constantFrom("1", "1", "1", "8", "9"),
      fc.array(happening, { maxLength: 6 }),
      fc.constantFrom(0, 1, 9),
      fc.array(inputs, { minLength: 1, maxLength: 3 }),
    )
    const property = fc.asyncProperty(draw, async ([prefix, end, happenings, hours, questions]) => {
      const to = `${prefix}${String(100_000 + ++count)}${end}`
      for (const item of happenings) await happen(to, item)
      host.clock.set(noon + hours * hour + count * minute)
      for (const question of questions) for (const rule of await compare(to, question)) visited.add(rule)
    })
    await fc.assert(property, { numRuns: isSoak ? 1_000 : 40, seed, endOnFailure: true })
    const every = ["connection", "consent", "erasure", "opt_out", "quiet_hours", "template", "test", "unanswered", "veto", "window"]
    expect([...visited].sort()).to.include.members(every)
  })

  /** Returns the rules that forbid it. */
  async function compare(to: string, { channel, from, template: name }: Question): Promise<string[]> {
    const template = channel === "chat_app" && name !== undefined ? { template: { name, language: "en_US" } } : {}
    const question = { channel, from, ...template }
    const { status, body } = await call<Checked>("POST", "/v1/consents/check", { ...question, phone: to })
    expect(status, JSON.stringify(body)).to.equal(200)
    const rules = body.addresses.flatMap((address) => address.rules.filter(({ verdict }) => verdict === "forbids"))
    const text = name === undefined || channel === "sms" ? "Hello" : ""
    const response = await call("POST", "/v1/voice/messages", { ...question, to, text, quiet_hours: "refuse" })
    expect([200, 400, 429], JSON.stringify(response.body)).to.include(response.status)
    const forbidding = rules.map(({ rule }) => rule)
    expect(body.allowed, `${forbidding.join()} and ${JSON.stringify(response.body)}`).to.equal(response.status === 200)
    return forbidding
  }

  async function happen(to: string, item: Happening): Promise<void> {
    host.clock.move(1_000)
    const at = host.clock.now()
    if (item.does === "writes" && item.channel === "sms") {
      const fields = { MessageSid: `SMq${++count}`, From: to, To: own, Body: item.body, SmsStatus: "received" }
      expect((await patiently(() => postTwilio(urls.twilio, fields))).status).to.equal(200)
    } else if (item.does === "writes") {
      const message = chatMessage(`wamid.q${++count}`, to, { at: at - item.hoursAgo * hour, body: item.body })
      expect((await patiently(() => postMeta(urls.meta, message))).status).to.equal(200)
    } else if (item.does === "consents") {
      const { does: _does, ...consent } = item
      await call("POST", "/v1/consents", { ...consent, phone: to })
    } else if (item.does === "is sent") {
      for (let n = 0; n < 5; n++) await call("POST", "/v1/voice/messages", { channel: item.channel, from: own, to, text: "Hello" })
    } else if (item.does === "is erased") await call("POST", "/v1/consents/erase", { phone: to, reason: "Asked for it." })
    else await call("POST", "/v1/leads", { phone: to, time_zone: item.time_zone })
  }
})
