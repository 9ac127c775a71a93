// Remains of people: after a deleted or expired conversation, and after an erasure.
import { expect } from "chai"
import { z } from "zod"
import { definePlugin, Store } from "#core"
import type { TestHost } from "#core/testing"
import { Collections } from "../../../core/contract/collection.ts"
import { JobCollection } from "../../../core/jobs/jobs-collection.ts"
import { Buckets } from "../../../plugins/data/buckets/index.ts"
import { type OutboundMessage, OutboundVetoes } from "../../../plugins/people/conversations/index.ts"
import { Leads } from "../../../plugins/people/leads/index.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { patiently, until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { json } from "../conversations/providers.ts"
import {
  chatMessage,
  conversationOf,
  type Endpoints,
  makePipelines,
  messagesOf,
  own,
  phoneNumberId,
  postMeta,
} from "../conversations/webhooks.ts"
import { message, type Receiving, startReceiving } from "../inbound-mail/receiving.ts"
import { listen, type Peer } from "../outgoing-http/loopback-peer.ts"
import { runJob } from "../run-job.ts"

const picture = Buffer.from("89504e470d0a1a0a0000", "hex")
const day = 86_400_000
const key = "erasure-test"
/** Default time of messages: the same for each delivery, and before any removal. */
const messageCount = Date.now() - 60_000

interface Erased {
  readonly rows: { dataset: string; row_id: string }[]
  readonly details?: { reason: string }
}

onBothStores("what is left of people", ({ start }) => {
  let service: Receiving
  let host: TestHost
  let urls: Endpoints
  let meta: Peer
  let veto: (message: OutboundMessage) => Promise<void> = async () => undefined
  // Its needs order its veto after the veto of consents.
  const late = definePlugin({
    id: "test-late-veto",
    needs: ["consents", "conversations"],
    config: z.strictObject({}),
    extend: [
      [
        OutboundVetoes,
        async (_, request) => {
          await veto(request)
          return undefined
        },
      ],
    ],
    register: () => undefined,
  })
  before(async () => {
    meta = await listen(({ url }, response) => {
      const file = { url: `${meta.origin}/file`, mime_type: "image/png", file_size: picture.length }
      if (url.startsWith("/file")) response.writeHead(200, { "content-type": "image/png" }).end(picture)
      else json(response, 200, file)
    })
    const allowed = { MILLRACE_OUTGOING_ALLOW_HOSTS: `127.0.0.1:${meta.port}`, MILLRACE_JOBS_POLL_MS: "50" }
    service = await startReceiving({
      plugins: [late],
      start: (options) => start({ ...options, env: { ...options?.env, ...allowed } }),
      others: { conversations: { keep_days: 30 } },
    })
    host = service.host
    await service.activate("example.com")
    urls = await makePipelines(host)
    const credentials = { base_url: meta.origin, headers: { Authorization: "Bearer t" } }
    await call("POST", "/v1/integrations-connect", { app: "http", name: "meta", share_with_org: true, credentials })
    const chat_app = { integration: "meta", phone_number_id: phoneNumberId }
    await call("POST", "/v1/voice/phone-numbers", { number: own, chat_app })
    await call("PUT", "/v1/autonomy-gates", { gates: [] })
  })
  after(async () => {
    await service.dns.close()
    await meta.close()
  })

  async function call<T = Record<string, unknown>>(method: string, path: string, body?: object): Promise<T> {
    const answer = await patiently(() => host.api<T>(method, path, body))
    expect(answer.status, `${path} ${JSON.stringify(answer.body)}`).to.equal(200)
    return answer.body
  }
  const says = async (id: string, from: string, more: { at?: number; body?: string | object; type?: string }) => {
    const value = chatMessage(id, from, { at: messageCount, name: `Name of ${key}`, ...more })
    expect((await patiently(() => postMeta(urls.meta, value))).status).to.equal(200)
  }
  const sendsPicture = async (id: string, from: string, at = messageCount) => {
    await says(id, from, { at, type: "image", body: { id: "media-1", mime_type: "image/png", caption: `Look, ${key}` } })
    const stored = await until("the file", async () =>
      (await messagesOf(host, "chatapp", from)).flatMap(({ media }) => media).find(({ state }) => state === "stored"),
    )
    expect((await fetch(stored.url)).status).to.equal(200)
    return stored.url
  }
  const idle = () =>
    until("every job being done", async () => {
      const due = { type: { $nin: ["conversations.close", "inbound_mail.purge"] }, organization: host.organization.id }
      const remaining = await host.get(Store).open(JobCollection).find(due)
      expect(
        remaining.map(({ type, state, last_error }) => ({ type, state, last_error })).filter(({ state }) => state === "dead"),
      ).to.deep.equal([])
      return remaining.length === 0
    })
  /** Returns the collections with a text anywhere. */
  const holding = async (text: string) => {
    const matches: string[] = []
    for (const { item: spec } of host.runtime.registry.all(Collections)) {
      const collection =
        spec.scope === "organization" ? host.get(Store).open(spec as never, host.organization.id) : host.get(Store).open(spec as never)
      for await (const document of collection.stream({})) if (JSON.stringify(document).includes(text)) matches.push(spec.name)
    }
    return [...new Set(matches)].sort()
  }
  /** Excludes the journal, since its payloads expire, and `others`. */
  const without = (names: string[], ...others: string[]) =>
    names.filter((name) => !["execution_payloads", "executions", ...others].includes(name))

  it("of a deleted conversation is nothing, also where its messages are delivered again, until the person writes again", async () => {
    const person = "+4915166600001"
    await says("wamid.d1", person, { body: "First" })
    const file = await sendsPicture("wamid.d2", person)
    const { session_id } = (await conversationOf(host, "chatapp", person)) ?? expect.fail()
    const path = `/v1/voice/chatapp-conversations/${session_id}`
    expect(await call("DELETE", path)).to.deep.equal({ session_id, deleted: true })
    for (const method of ["GET", "DELETE"]) expect((await host.api(method, path)).status).to.equal(404)
    expect(await conversationOf(host, "chatapp", person)).to.equal(undefined)
    await idle()
    expect((await fetch(file)).status).to.equal(404)
    await says("wamid.d1", person, { body: "First" })
    await idle()
    expect(await conversationOf(host, "chatapp", person)).to.equal(undefined)
    expect(await holding("wamid.d")).to.not.include.members(["chatapp_messages"])
    await says("wamid.d3", person, { at: Date.now() + 1_000, body: "Here again" })
    await idle()
    expect((await messagesOf(host, "chatapp", person)).map(({ text }) => text)).to.deep.equal(["Here again"])
    const text = await host.api("DELETE", `/v1/voice/text-conversations/${session_id}`)
    expect(text.status, "of the other channel").to.equal(404)
  })

  it("of old messages is nothing, and younger ones stay", async () => {
    const [both, old] = ["+4915166600002", "+4915166600003"]
    const file = await sendsPicture("wamid.o1", old, Date.now() - 31 * day)
    await says("wamid.o2", both, { at: Date.now() - 31 * day, body: "Old" })
    await says("wamid.o3", both, { at: Date.now() - 29 * day, body: "Young" })
    await idle()
    await runJob(host, "conversations.retention")
    await idle()
    expect(await conversationOf(host, "chatapp", old)).to.equal(undefined)
    expect((await fetch(file)).status).to.equal(404)
    expect((await messagesOf(host, "chatapp", both)).map(({ text }) => text)).to.deep.equal(["Young"])
    const conversation = await conversationOf(host, "chatapp", both)
    expect(conversation).to.include({ message_count: 1 })
  })

  it("of an erased person there is no row, also of those that were written just before, while the lead changes", async () => {
    await call("POST", "/v1/datasets", { slug: "moments", name: "Moments" })
    const email = "moment@elsewhere.test"
    const createMoment = (name: string) => call("POST", "/v1/datasets/moments/rows", { rows: [{ email, name }] })
    await createMoment("First")
    await until("the lead", async () => (await call<{ leads: { id: string }[] }>("GET", `/v1/leads?email=${email}`)).leads[0])
    await createMoment("Last")
    const race = host.get(Leads).seen(host.organization.id, { email, name: "", at: new Date(Date.now() + day).toISOString() })
    const [{ rows }] = await Promise.all([
      call<Erased>("POST", "/v1/consents/erase", { reason: "Article 17", email, rows: "delete" }),
      race,
    ])
    expect(rows).to.have.length(2)
    await idle()
    expect((await call<{ rows: object[] }>("GET", "/v1/datasets/moments/rows")).rows).to.deep.equal([])
  })

  it("of an erased person is nothing in the history of merged and split leads", async () => {
    const [email, phone] = ["history@elsewhere.test", "+4930901850"]
    const lead = await call<{ lead_reference: string }>("POST", "/v1/leads", { email, name: "History" })
    const other = await call<{ lead_reference: string }>("POST", "/v1/leads", { phone, name: "History too" })
    const path = `/v1/leads/${lead.lead_reference}`
    await call("POST", `${path}/merge`, { other_lead_id: other.lead_reference })
    const { split_off } = await call<{ split_off: { lead_reference: string } }>("POST", `${path}/split`, { phones: [phone] })
    await call("POST", `${path}/merge`, { other_lead_id: split_off.lead_reference })
    expect(await holding(email)).to.include.members(["lead_identities", "leads"])
    expect(await holding(phone)).to.include.members(["lead_changes", "lead_identities", "leads"])
    await call("POST", "/v1/consents/erase", { reason: "Article 17", email })
    await idle()
    expect(without(await holding(email), "audit_log")).to.deep.equal([])
    await call("POST", "/v1/consents/erase", { reason: "Article 17", phone })
    await idle()
    expect(without(await holding(phone.slice(1)), "audit_log")).to.deep.equal([])
  })

  it("of who is erased amid a conversation is nothing that was said until then, and nothing is sent to them", async () => {
    const person = "+4915166600005"
    await says("wamid.a0", person, { body: "Begun" })
    const send = () => host.api<Erased>("POST", "/v1/voice/messages", { channel: "chat_app", from: own, to: person, text: "Hello" })
    const write = (n: number) => says(`wamid.a${n}`, person, { body: `Amid ${n}` })
    const erase = () => call("POST", "/v1/consents/erase", { reason: "Article 17", phone: person })
    await Promise.all([write(1), send(), write(2), erase(), send(), write(3)])
    await idle()
    const called = meta.asked.length
    for (const n of [0, 1, 2, 3]) await write(n)
    const late = await send()
    expect([late.status, late.body.details?.reason]).to.deep.equal([400, "send_vetoed"])
    await idle()
    expect(meta.asked.length).to.equal(called)
    expect(await conversationOf(host, "chatapp", person)).to.equal(undefined)
    // The audit log names the sender of a message to them.
    expect(without(await holding(person.slice(1)), "audit_log")).to.deep.equal([])
  })

  it("of who is erased after a message to them has passed the gate, and before it is stored, is nothing", async () => {
    const person = "+4915166600006"
    await says("wamid.g0", person, { body: "Begun" })
    await idle()
    const called = meta.asked.length
    let erased = false
    // Called after the veto of consents.
    veto = async ({ address }) => {
      if (address !== person || erased) return
      erased = true
      await call("POST", "/v1/consents/erase", { reason: "Article 17", phone: person })
      await idle()
      expect(await conversationOf(host, "chatapp", person)).to.equal(undefined)
    }
    await call("POST", "/v1/voice/messages", { channel: "chat_app", from: own, to: person, text: "Hello" })
    expect(erased).to.equal(true)
    await idle()
    expect(await conversationOf(host, "chatapp", person)).to.equal(undefined)
    expect(without(await holding(person.slice(1)), "audit_log")).to.deep.equal([])
    expect(meta.asked.length).to.equal(called)
  })

  it("of who is erased just before leads are told that they wrote is nothing", async () => {
    const [phone, email] = ["+4915166600007", "told@elsewhere.test"]
    const leads = host.get(Leads)
    const { seen } = leads
    const reports: string[] = []
    leads.seen = async (organization, view) => {
      const person = view.phone ? { phone: view.phone } : { email: view.email }
      if (reports.push(Object.keys(person)[0] ?? "") <= 2) {
        await call("POST", "/v1/consents/erase", { reason: "Article 17", ...person })
        await until(
          "their traces being erased",
          async () => !(await host.get(Store).open(JobCollection).first({ type: "consents.erase_traces" })),
        )
      }
      return seen.call(leads, organization, view)
    }
    try {
      await says("wamid.t1", phone, { body: "Begun" })
      await until("leads being told", async () => reports.length > 0)
      await idle()
      const mail = message({ From: email, To: "team@example.com", "Message-ID": "<told@elsewhere.test>", Subject: "Begun" })
      await service.send(email, "team@example.com", mail)
      await until("leads being told", async () => reports.includes("email"))
      await idle()
    } finally {
      leads.seen = seen
    }
    expect(reports).to.deep.equal(["phone", "email"])
    for (const text of [phone.slice(1), email]) expect(without(await holding(text), "audit_log")).to.deep.equal([])
  })

  it("of an erased person is a digest, on every channel, and rows as long as nobody deletes them", async () => {
    const [phone, email, other] = ["+4915166600004", `${key}@elsewhere.test`, `other-${key}@elsewhere.test`]
    const file = await sendsPicture("wamid.e1", phone)
    await says("wamid.e2", phone, { body: "STOP" })
    for (const [id, from] of [
      ["e1", email],
      ["e2", other],
    ] as const)
      await service.send(
        from,
        "team@example.com",
        message({ From: from, To: "team@example.com", "Message-ID": `<${id}-${key}@elsewhere.test>`, Subject: key }),
      )
    await until("both mails", async () => {
      const { conversations } = await call<{ conversations: { address: string }[] }>("GET", "/v1/email-conversations")
      return conversations.length === 2
    })
    await call("POST", "/v1/suppressions", { address: email })
    await call("POST", "/v1/datasets", { slug: "contacts", name: "Contacts" })
    for (const address of [email, other]) await call("POST", "/v1/datasets/contacts/rows", { rows: [{ email: address, note: key }] })
    await call("POST", "/v1/consents", { email, kind: "given" })
    await until("their rows being leads'", async () => {
      const rows = host.get(Store).open(collectionNamed(host, "lead_rows"), host.organization.id)
      return (await rows.find({ dataset: "contacts" })).length === 2
    })
    await idle()

    const raw = await host
      .get(Store)
      .open(collectionNamed<{ raw_key: string; envelope: { from: string } }>(host, "inbound_mails"), host.organization.id)
      .find({})
    const keptRaw = () =>
      Promise.all(raw.map(async (mail) => (await host.get(Buckets).open(host.organization.id).get(mail.raw_key)) && mail.envelope.from))
    expect((await keptRaw()).filter(Boolean).sort()).to.include.members([email, other])

    const erase = (body: object) => call<Erased>("POST", "/v1/consents/erase", { reason: "Article 17", ...body })
    expect((await erase({ phone })).rows).to.deep.equal([])
    const { rows } = await erase({ email, rows: "delete" })
    expect(rows.map(({ dataset }) => dataset)).to.deep.equal(["contacts"])
    expect((await erase({ email: other })).rows.map(({ dataset }) => dataset)).to.deep.equal(["contacts"])
    await idle()
    expect((await fetch(file)).status).to.equal(404)
    expect(await conversationOf(host, "chatapp", phone)).to.equal(undefined)
    expect(without(await holding(phone.slice(1)))).to.deep.equal([])
    for (const from of [email, other]) expect(await keptRaw(), "raw messages").to.not.include(from)
    // The audit log retains the authors of manual entries.
    expect(without(await holding(email))).to.deep.equal(["audit_log", "dataset_rows"])
    const { rows: remaining } = await call<{ rows: { id: string; values: { email: string } }[] }>("GET", "/v1/datasets/contacts/rows")
    expect(
      remaining.map(({ values }) => values.email),
      "of who is kept",
    ).to.deep.equal([other])
    await says("wamid.e1", phone, { body: "Delivered again" })
    await idle()
    expect(await conversationOf(host, "chatapp", phone)).to.equal(undefined)
    const response = await host.api<Erased>("POST", "/v1/voice/messages", { channel: "chat_app", from: own, to: phone, text: "Hello" })
    expect([response.status, response.body.details?.reason]).to.deep.equal([400, "send_vetoed"])
  })
})
