// Consents: given and withdrawn, the resulting permission with its reason, and the remains after erasure.
import { expect } from "chai"
import { Store, UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import { Mailer } from "../../../plugins/people/email/index.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { patiently, until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { connect, type Providers, providerEnv, startProviders } from "../conversations/providers.ts"
import { chatMessage, type Endpoints, makePipelines, messagesOf, own, postMeta } from "../conversations/webhooks.ts"

interface Refusal {
  readonly code: string
  readonly details: { reason?: string; fields?: { path: string }[] }
}
interface Rule {
  readonly rule: string
  readonly verdict: string
  readonly why: string
  readonly evidence: Record<string, unknown>
  readonly until?: string
}
interface Checked extends Refusal {
  readonly allowed: boolean
  readonly addresses: { address: string; allowed: boolean; rules: Rule[] }[]
}
interface Consent extends Refusal {
  readonly id: string
  readonly address: string
  readonly kind: string
}

/** One in the afternoon in Berlin. */
const noon = Date.parse("2026-11-24T12:00:00Z")

onBothStores("consents", ({ start }) => {
  let host: TestHost
  let providers: Providers
  let urls: Endpoints
  let count = 0
  before(async () => {
    providers = await startProviders()
    host = await start({ env: { ...providerEnv(providers), MILLRACE_JOBS_POLL_MS: "50" } })
    urls = await makePipelines(host)
    await connect(host, providers)
    host.clock.set(noon)
  })
  after(() => providers.close())

  const call = <T = Record<string, unknown>>(method: string, path: string, body?: unknown, key?: string) =>
    patiently(() => host.api<T & Refusal>(method, path, body, key === undefined ? {} : { key }))
  const record = (body: object) => call<Consent>("POST", "/v1/consents", body)
  const check = async (body: object) => (await call<Checked>("POST", "/v1/consents/check", body)).body
  const ruleOf = ({ addresses }: Checked, name: string) => addresses[0]?.rules.find(({ rule }) => rule === name)
  const address = () => `person${++count}@example.com`
  const mail = (to: string, category: "marketing" | "transactional") =>
    host.get(Mailer).send({
      organization: host.organization.id,
      to,
      heading: "Hello",
      category,
      idempotencyKey: `mail ${++count}`,
      at: "2026-11-24T12:00:00.000Z",
    })

  it("are kept with what was said, and the newest of a channel and purpose holds", async () => {
    const email = address()
    expect(await check({ email, channel: "email", purpose: "marketing" })).to.include({ allowed: true })
    const response = await record({
      email: email.toUpperCase(),
      kind: "given",
      channel: "email",
      source: "form",
      wording: "Yes, news.",
      evidence: { page: "/news" },
    })
    expect(response.status, JSON.stringify(response.body)).to.equal(200)
    expect(response.body).to.include({ address: email, kind: "given" })
    const allowed = await check({ email, channel: "email", purpose: "marketing" })
    expect(ruleOf(allowed, "consent")).to.deep.include({ verdict: "allows" })
    expect(ruleOf(allowed, "consent")?.evidence).to.deep.include({
      entry_id: response.body.id,
      wording: "Yes, news.",
      evidence: { page: "/news" },
    })
    // An older withdrawal does not count, even if recorded later.
    await record({ email, kind: "withdrawn", at: "2020-01-01T00:00:00Z" })
    expect((await check({ email, channel: "email", purpose: "marketing" })).allowed).to.equal(true)
    host.clock.move(1_000)
    await record({ email, kind: "withdrawn", wording: "No more news." })
    const forbidden = await check({ email, channel: "email", purpose: "marketing" })
    expect([forbidden.allowed, ruleOf(forbidden, "consent")?.verdict]).to.deep.equal([false, "forbids"])
    expect((await check({ email, channel: "email", purpose: "service" })).allowed).to.equal(true)
    const list = (await call<{ consents: Consent[] }>("GET", `/v1/consents?email=${email}`)).body.consents
    expect(list.map(({ kind }) => kind)).to.deep.equal(["withdrawn", "given", "withdrawn"])
  })

  it("hold back mail whose purpose was withdrawn, or that needs a consent", async () => {
    const email = address()
    await record({ email, kind: "withdrawn", purpose: "marketing" })
    expect(await mail(email, "marketing")).to.deep.include({ message_id: null, suppressed: [{ address: email, reason: "no_consent" }] })
    expect((await mail(email, "transactional")).message_id).to.be.a("string")
    host.clock.move(1_000)
    await record({ email, kind: "withdrawn", purpose: "all" })
    expect((await mail(email, "transactional")).message_id).to.equal(null)

    const unasked = address()
    expect((await mail(unasked, "marketing")).message_id).to.be.a("string")
    expect((await call("PUT", "/v1/consent-settings", { required_purposes: ["marketing"] })).status).to.equal(200)
    expect((await mail(unasked, "marketing")).message_id).to.equal(null)
    expect((await check({ email: unasked, channel: "email", purpose: "marketing" })).allowed).to.equal(false)
    await record({ email: unasked, kind: "given", channel: "email" })
    expect((await mail(unasked, "marketing")).message_id).to.be.a("string")
    await call("PUT", "/v1/consent-settings", { required_purposes: [] })
  })

  it("are asked about together with the suppression list, opt-outs and quiet hours, each with its evidence", async () => {
    const email = address()
    await call("POST", "/v1/suppressions", { address: email, reason: "unsubscribe" })
    const news = await check({ email, channel: "email", purpose: "marketing" })
    expect(news.allowed).to.equal(false)
    expect(ruleOf(news, "suppression")?.evidence).to.include({ reason: "unsubscribe", source: "operation" })
    expect((await check({ email, channel: "email", purpose: "service" })).allowed).to.equal(true)

    const phone = "+4915112340001"
    const stranger = await check({ phone, channel: "chat_app" })
    expect([stranger.allowed, ruleOf(stranger, "window")?.verdict]).to.deep.equal([false, "forbids"])
    await postMeta(urls.meta, chatMessage("wamid.hello1", phone, { at: host.clock.now() - 7_200_000, body: "Hello" }))
    expect(await check({ phone, channel: "chat_app" })).to.include({ allowed: true })
    const stop = await postMeta(urls.meta, chatMessage("wamid.stop1", phone, { at: host.clock.now(), body: "STOP" }))
    expect(stop.status).to.equal(200)
    const refused = await check({ phone, channel: "chat_app" })
    expect(refused.allowed).to.equal(false)
    expect(ruleOf(refused, "opt_out")?.evidence).to.include({ source: "keyword", wording: "STOP" })
    expect((await check({ phone, channel: "sms" })).allowed).to.equal(true)
    host.clock.set(Date.parse("2026-11-24T22:30:00Z"))
    const quiet = await check({ phone, channel: "sms" })
    expect([quiet.allowed, ruleOf(quiet, "quiet_hours")?.until]).to.deep.equal([false, "2026-11-25T07:00:00.000Z"])
    host.clock.set(noon + 60_000)
    for (const [body, path] of [
      [{ email, channel: "email", from: own }, "from"],
      [{ phone, channel: "sms", template: { name: "hello", language: "en" } }, "template"],
    ] as const) {
      const { status, body: refusal } = await call("POST", "/v1/consents/check", body)
      expect([status, refusal.details.fields?.[0]?.path]).to.deep.equal([400, path])
    }
    expect((await call("POST", "/v1/consents/check", { phone, channel: "sms", from: "+493000000" })).status).to.equal(404)
  })

  it("hold back messages by chat app and text", async () => {
    const phone = "+4915112340002"
    await postMeta(urls.meta, chatMessage("wamid.hello2", phone, { at: host.clock.now(), body: "Hello" }))
    await until("the message", async () => (await messagesOf(host, "chatapp", phone)).length === 1)
    const send = (channel: string) => call("POST", "/v1/voice/messages", { channel, from: own, to: phone, text: "Hello" })
    await record({ phone, kind: "withdrawn", channel: "chat_app", purpose: "all" })
    const vetoed = await send("chat_app")
    expect([vetoed.status, vetoed.body.details.reason]).to.deep.equal([400, "send_vetoed"])
    expect((await send("sms")).status).to.equal(200)
  })

  it("know a person however their number is written", async () => {
    const [chat, dialled] = ["+5215512345600", "+525512345600"]
    await record({ phone: chat, kind: "withdrawn", purpose: "all" })
    expect((await check({ phone: dialled, channel: "sms" })).allowed).to.equal(false)
    expect((await call<{ consents: Consent[] }>("GET", `/v1/consents?phone=${encodeURIComponent(dialled)}`)).body.consents).to.have.length(
      1,
    )
    const lead = (await call<{ lead_reference: string }>("POST", "/v1/leads", { phone: dialled })).body
    expect((await call("POST", "/v1/consents/erase", { phone: chat, reason: "Article 17" })).status).to.equal(200)
    for (const phone of [chat, dialled])
      expect(ruleOf(await check({ phone, channel: "sms" }), "erasure")?.verdict, phone).to.equal("forbids")
    expect((await call("GET", `/v1/leads/${lead.lead_reference}`)).body).to.deep.include({ phones: [] })
  })

  it("are exported and erased person by person; what is left is a digest that still forbids", async () => {
    const email = address()
    const lead = (await call<{ lead_reference: string }>("POST", "/v1/leads", { email, name: "Erase Me" })).body
    for (const kind of ["given", "withdrawn", "given"]) {
      host.clock.move(1_000)
      await record({ email, kind, wording: `Said by ${email}` })
    }
    const lines = async () => {
      const answer = await fetch(`${host.url}/v1/consents/export?email=${email}`, { headers: { authorization: `Bearer ${host.adminKey}` } })
      return (await answer.text()).split("\n").filter((line) => line !== "")
    }
    expect((await lines()).map((line) => (JSON.parse(line) as Consent).kind)).to.deep.equal(["given", "withdrawn", "given"])
    const erase = () => call<{ entries: number; tombstone_id: string }>("POST", "/v1/consents/erase", { email, reason: "Article 17" })
    const erased = await erase()
    expect([erased.status, erased.body.entries]).to.deep.equal([200, 3])
    expect(await lines()).to.deep.equal([])
    const remaining = await check({ email, channel: "email", purpose: "service" })
    expect([remaining.allowed, ruleOf(remaining, "erasure")?.evidence["tombstone_id"]]).to.deep.equal([false, erased.body.tombstone_id])
    expect((await mail(email, "transactional")).suppressed).to.deep.equal([{ address: email, reason: "erased" }])
    const again = await erase()
    expect([again.status, again.body.details.reason]).to.deep.equal([400, "person_erased_already"])
    const response = await record({ email, kind: "given" })
    expect([response.status, response.body.details.reason]).to.deep.equal([400, "person_erased"])
    // No record names the person any more: neither the ledger, the tombstone, the lead nor the audit log.
    const store = host.get(Store)
    const ledger = await store.open(collectionNamed(host, "consents"), host.organization.id).find({})
    const tombstones = await store.open(collectionNamed(host, "consent_tombstones"), host.organization.id).find({})
    const forgotten = (await call("GET", `/v1/leads/${lead.lead_reference}`)).body
    const timeline = (await call("GET", `/v1/leads/${lead.lead_reference}/timeline`)).body
    const audit = (await call("GET", "/v1/audit-log?limit=200")).body
    const parts = Object.entries({ ledger, tombstones, forgotten, timeline, audit }).filter(([, part]) =>
      JSON.stringify(part).includes(email),
    )
    expect(parts.map(([name]) => name)).to.deep.equal([])
    expect(forgotten).to.deep.include({ name: "", emails: [] })
    expect((await record({ email, kind: "given", after_erasure: true })).status).to.equal(200)
    expect((await check({ email, channel: "email", purpose: "service" })).allowed).to.equal(true)
  })

  it("are refused where nobody can be told from them, and unknown to others", async () => {
    for (const [body, path] of [
      [{ kind: "given" }, "email"],
      [{ kind: "given", email: "a@example.com", phone: "+4930901820" }, "email"],
      [{ kind: "given", email: "nobody" }, "email"],
      [{ kind: "given", phone: "12" }, "phone"],
      [{ kind: "given", email: "a@example.com", channel: "sms" }, "channel"],
      // It would outlast every withdrawal until then.
      [{ kind: "given", email: "a@example.com", at: new Date(host.clock.now() + 120_000).toISOString() }, "at"],
    ] as const) {
      const refused = await record(body)
      expect([refused.status, refused.body.details.fields?.[0]?.path], JSON.stringify(body)).to.deep.equal([400, path])
    }
    const email = address()
    await record({ email, kind: "withdrawn", purpose: "all" })
    const key = await host.get(UnitsOfWork).run((work) => {
      const { id } = host.get(Organizations).create(work, { name: "Other", slug: "other" })
      return host.get(ApiKeys).mint(work, id, { name: "Key", kind: "api_key", role: "admin", scopes: null, user: null }).text
    })
    expect((await call<{ consents: Consent[] }>("GET", `/v1/consents?email=${email}`, undefined, key)).body.consents).to.deep.equal([])
    expect((await call<Checked>("POST", "/v1/consents/check", { email, channel: "email" }, key)).body.allowed).to.equal(true)
    const member = (await call<{ secret: string }>("POST", "/v1/api-keys", { name: "member", role: "member" })).body.secret
    expect((await call("POST", "/v1/consents/erase", { email, reason: "Asked" }, member)).status).to.equal(403)
    expect((await call("PUT", "/v1/consent-settings", { required_purposes: [] }, member)).status).to.equal(403)
    const guest = (await call<{ secret: string }>("POST", "/v1/api-keys", { name: "guest", role: "guest" })).body.secret
    expect((await call("POST", "/v1/consents/check", { email, channel: "email" }, guest)).status).to.equal(403)
  })
})
