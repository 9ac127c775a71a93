// Leads: one person over all channels, identified by mail address and phone number, merged and split by hand, with one timeline.
import { expect } from "chai"
import { Store, UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import { ConversationLeads } from "../../../plugins/people/conversations/index.ts"
import { normalPhone } from "../../../plugins/people/leads/index.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { patiently, until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { runJob } from "../run-job.ts"

interface Lead {
  readonly canonical_lead_id: string
  readonly lead_reference: string
  readonly name: string
  readonly emails: string[]
  readonly phones: string[]
  readonly possible_duplicates: string[]
}
interface Entry {
  readonly id: string
  readonly at: string
  readonly kind: string
  readonly summary: string
  readonly evidence: Record<string, unknown>
}
interface Refusal {
  readonly code: string
  readonly details: { reason?: string; fields?: { path: string }[] }
}

describe("numbers of leads", () => {
  it("have one spelling, with the region's country code where they have none of their own", () => {
    for (const text of ["+49 30 901820", "+4930901820", "0049 30 901820", "030/90 18 20", "+49 (0)30 901820"])
      expect([text, normalPhone(text, "DE")]).to.deep.equal([text, "+4930901820"])
    expect(normalPhone("030 901820", "")).to.equal(undefined)
    // An unknown range with a country code.
    expect(normalPhone("+491510000001", "")).to.equal("+491510000001")
    for (const text of ["12", "+12", "call me", ""]) expect([text, normalPhone(text, "DE")]).to.deep.equal([text, undefined])
  })
})

onBothStores("leads", ({ start }) => {
  let host: TestHost
  before(async () => {
    host = await start({ env: { MILLRACE_JOBS_POLL_MS: "50" } })
    await host.api("PUT", "/v1/lead-settings", { default_region: "de" })
  })

  const leadRows = () => collectionNamed<{ dataset: string; execution_id: string | null; pipeline: string | null }>(host, "lead_rows")
  const call = <T = Record<string, unknown>>(method: string, path: string, body?: unknown, key?: string) =>
    patiently(() => host.api<T & Refusal>(method, path, body, key === undefined ? {} : { key }))
  const pipeline = async (name: string, step: object) => {
    const response = await call<{ inbound_url: string; slug: string }>("POST", "/v1/event-pipelines", {
      name,
      state: "active",
      auth_mode: "none",
      pipeline: [{ type: "dataset.write", ...step }],
    })
    expect(response.status, JSON.stringify(response.body)).to.equal(200)
    return response.body
  }
  it("have a reference of 22 characters that stands for the UUID, and nothing else does", async () => {
    await call("POST", "/v1/leads", { email: "referred@example.com" })
    const leads = collectionNamed(host, "leads")
    const like = (await host.get(Store).open(leads, host.organization.id).first({ emails: "referred@example.com" })) ?? expect.fail()
    for (const id of [
      "00000000-0000-0000-0000-000000000000",
      "ffffffff-ffff-ffff-ffff-ffffffffffff",
      "0190a7c4-1111-7000-8000-00000000abcd",
    ]) {
      await host.get(UnitsOfWork).run((work) => work.in(leads, host.organization.id).insert({ ...like, id }))
      const { body } = await call<Lead>("GET", `/v1/leads/${id.toUpperCase()}`)
      expect(body.lead_reference).to.match(/^[0-9A-Za-z]{22}$/)
      const again = await call<Lead>("GET", `/v1/leads/${body.lead_reference}`)
      expect([body.canonical_lead_id, again.body.canonical_lead_id]).to.deep.equal([id, id])
      await host.get(UnitsOfWork).run((work) => work.in(leads, host.organization.id).remove(id))
    }
    for (const text of ["z".repeat(22), "0".repeat(21), `${"0".repeat(21)}-`, "ada@example.com"])
      expect((await call("GET", `/v1/leads/${text}`)).status, text).to.equal(404)
  })

  const list = async (query: string) => (await call<{ leads: Lead[] }>("GET", `/v1/leads?${query}`)).body.leads
  const leadOf = (query: Record<string, string>, holds: (lead: Lead) => boolean = () => true) =>
    until(`the lead of ${JSON.stringify(query)}`, async () => {
      const [lead] = await list(String(new URLSearchParams(query)))
      return lead && holds(lead) ? lead : undefined
    })
  const timelineOf = async (ref: string, query = "") =>
    (await call<{ timeline: Entry[]; next_cursor: string }>("GET", `/v1/leads/${ref}/timeline?${query}`)).body
  const timelineWith = (ref: string, count: number) =>
    until(`${count} entries`, async () => {
      const { timeline } = await timelineOf(ref)
      return timeline.length >= count ? timeline : undefined
    })

  it("are one for the rows of several pipelines, by address and by number in any spelling", async () => {
    const form = await pipeline("Form", { dataset_slug: "leads", key: "email" })
    const booking = await pipeline("Booking", { dataset_slug: "bookings" })
    await host.send(form, { email: "Ada@Example.COM", name: "Ada Lovelace", phone: "030 901820" })
    await leadOf({ email: "ada@example.com" })
    await host.send(booking, { workEmail: "ada@example.com", budget: 5 })
    await host.send(booking, { mobile_phone: "+49 30 90 18 20", note: "call me" })
    await host.send(booking, { note: "nobody", email: "not an address" })
    const lead = await leadOf({ phone: "+4930901820" }, ({ phones }) => phones.length === 1)
    expect(lead).to.include({ name: "Ada Lovelace" })
    expect([lead.emails, lead.phones]).to.deep.equal([["ada@example.com"], ["+4930901820"]])
    const timeline = await timelineWith(lead.lead_reference, 4)
    expect(await list("email=ADA%40example.com")).to.deep.equal(await list("phone=030901820"))
    expect(timeline.map(({ kind }) => kind).sort()).to.deep.equal(["lead.created", "pipeline.event", "pipeline.event", "pipeline.event"])
    const event = timeline.find(({ evidence }) => evidence["pipeline"] === form.slug)
    const execution = await call("GET", `/v1/event-pipelines/${form.slug}/executions/${String(event?.evidence["execution_id"])}`)
    expect(execution.status).to.equal(200)
    // Another submission of the same person extends the same lead.
    await host.send(form, { email: "ada@example.com", name: "Ada L." })
    await timelineWith(lead.canonical_lead_id, 5)
    expect((await list("")).filter(({ emails }) => emails.includes("ada@example.com"))).to.have.length(1)
  })

  it("are what conversations are told of a number", async () => {
    const { body } = await call<Lead>("POST", "/v1/leads", { phone: "+4930901830" })
    const directory = host.get(ConversationLeads)
    const { id } = host.organization
    const leads = await directory.ofAddresses(id, ["+4930901830", "+4930901831"])
    const { canonical_lead_id, lead_reference } = body
    expect([...leads]).to.deep.equal([["+4930901830", { canonical_lead_id, lead_reference }]])
    expect(await directory.addressesOf(id, body.lead_reference)).to.deep.equal(["+4930901830"])
    expect(await directory.addressesOf(id, body.canonical_lead_id)).to.deep.equal(["+4930901830"])
    expect(await directory.addressesOf(id, "nobody")).to.deep.equal([])
    const at = new Date(host.clock.now()).toISOString()
    for (const name of ["Bob", "Bobby"]) await directory.seen(id, { address: "+4930901831", name, at }, () => {})
    expect((await leadOf({ phone: "+4930901831" })).name).to.equal("Bob")
  })

  it("name each other where a row names both, are merged by hand, and split again with what happened", async () => {
    const rows = (values: object[]) => call("POST", "/v1/datasets/people/rows", { rows: values })
    await call("POST", "/v1/datasets", { name: "People" })
    await rows([{ email: "grace@example.com" }, { phone: "+4930901840", first_name: "Grace", last_name: "Hopper" }])
    const lead = await leadOf({ email: "grace@example.com" })
    const other = await leadOf({ phone: "+4930901840" })
    expect(other.name).to.equal("Grace Hopper")
    await rows([{ email: "grace@example.com", phone: "+4930901840" }])
    const suspected = await leadOf({ email: "grace@example.com" }, ({ possible_duplicates }) => possible_duplicates.length > 0)
    expect(suspected.possible_duplicates).to.deep.equal([other.canonical_lead_id])
    const merged = await call<Lead>("POST", `/v1/leads/${lead.lead_reference}/merge`, {
      other_lead_id: other.lead_reference,
      note: "Same person.",
    })
    expect(merged.status, JSON.stringify(merged.body)).to.equal(200)
    expect([merged.body.emails, merged.body.phones, merged.body.possible_duplicates, merged.body.name]).to.deep.equal([
      ["grace@example.com"],
      ["+4930901840"],
      [],
      "Grace Hopper",
    ])
    expect((await call<Lead>("GET", `/v1/leads/${other.canonical_lead_id}`)).body).to.deep.equal(merged.body)
    expect(await list("phone=%2B4930901840")).to.deep.equal([merged.body])
    const together = await timelineWith(lead.canonical_lead_id, 7)
    expect(together.map(({ kind }) => kind).sort()).to.deep.equal([
      "dataset.row_written", "dataset.row_written", "dataset.row_written", "lead.created", "lead.created", "lead.merged", "lead.merged_into",
    ]) // biome-ignore format: a list
    const again = await call("POST", `/v1/leads/${lead.lead_reference}/merge`, { other_lead_id: other.lead_reference })
    expect([again.status, again.body.details.reason]).to.deep.equal([400, "lead_merge_refused"])

    const split = (body: object) => call<{ lead: Lead; split_off: Lead }>("POST", `/v1/leads/${lead.canonical_lead_id}/split`, body)
    for (const body of [{}, { emails: ["eve@example.com"] }, { emails: ["grace@example.com"], phones: ["+4930901840"] }]) {
      const refused = await split(body)
      expect([refused.status, refused.body.details.reason]).to.deep.equal([400, "lead_split_refused"])
    }
    const parts = (await split({ phones: ["030 901840"], note: "Two people." })).body
    expect([parts.lead.phones, parts.split_off.phones, parts.split_off.emails]).to.deep.equal([[], ["+4930901840"], []])
    expect(await list("phone=%2B4930901840")).to.deep.equal([parts.split_off])
    const kinds = (await timelineOf(parts.split_off.lead_reference)).timeline.map(({ kind }) => kind)
    expect(kinds.sort()).to.deep.equal(["dataset.row_written", "lead.split_off"])
    expect((await timelineOf(lead.lead_reference)).timeline.some(({ kind }) => kind === "lead.split")).to.equal(true)
  })

  it("are one however a mobile number is written", async () => {
    const [chat, dialled] = ["+5215512345679", "+525512345679"]
    const { body } = await call<Lead>("POST", "/v1/leads", { phone: dialled, email: "ana@example.com" })
    const directory = host.get(ConversationLeads)
    const { id } = host.organization
    await directory.seen(id, { address: chat, name: "Ana", at: new Date(host.clock.now()).toISOString() }, () => {})
    expect((await directory.ofAddresses(id, [chat])).get(chat)?.lead_reference).to.equal(body.lead_reference)
    const references = (await list(`phone=${encodeURIComponent(chat)}`)).map(({ lead_reference, phones }) => ({ lead_reference, phones }))
    expect(references).to.deep.equal([{ lead_reference: body.lead_reference, phones: [dialled] }])
    const parts = await call<{ split_off: Lead }>("POST", `/v1/leads/${body.lead_reference}/split`, { phones: [chat] })
    expect(parts.body.split_off?.phones, JSON.stringify(parts.body)).to.deep.equal([dialled])
    expect((await list(`phone=${encodeURIComponent(chat)}`)).map(({ emails }) => emails)).to.deep.equal([[]])
  })

  it("are never merged in a circle, nor split off twice, by calls at once", async () => {
    const references = await Promise.all(
      ["a", "b", "c"].map(
        async (name) => (await call<Lead>("POST", "/v1/leads", { email: `circle-${name}@example.com` })).body.lead_reference,
      ),
    )
    const merge = (into: number, from: number) =>
      call("POST", `/v1/leads/${references[into % 3]}/merge`, { other_lead_id: references[from % 3] })
    for (let round = 0; round < 3; round++) await Promise.all([0, 1, 2].map((n) => merge(n, n + 1)))
    const read = await Promise.all(references.map((reference) => call<Lead>("GET", `/v1/leads/${reference}`)))
    expect(new Set(read.map(({ body }) => body.canonical_lead_id)).size).to.equal(1)
    expect(read[0]?.body.emails).to.have.members(["a", "b", "c"].map((name) => `circle-${name}@example.com`))
    expect((await merge(0, 0)).status).to.equal(400)
    const split = () => call("POST", `/v1/leads/${references[0]}/split`, { emails: ["circle-b@example.com"] })
    const splits = await Promise.all([split(), split(), split()])
    expect(splits.filter(({ status }) => status === 200)).to.have.length(1)
    expect((await split()).body.details.reason).to.equal("lead_split_refused")
    expect(await list("email=circle-b%40example.com")).to.have.length(1)
  })

  it("are told by pages that miss nothing and show nothing twice", async () => {
    await call("POST", "/v1/datasets", { name: "Visits" })
    const rows = Array.from({ length: 25 }, (_, n) => ({ email: "joan@example.com", n }))
    await call("POST", "/v1/datasets/visits/rows", { rows })
    const { lead_reference } = await leadOf({ email: "joan@example.com" })
    const whole = await timelineWith(lead_reference, 26)
    const entries: Entry[] = []
    for (let cursor = ""; ; ) {
      const page = await timelineOf(lead_reference, `limit=7&cursor=${cursor}`)
      entries.push(...page.timeline)
      if (page.next_cursor === "") break
      cursor = page.next_cursor
    }
    expect(entries).to.deep.equal(whole)
    const { next_cursor } = await timelineOf(lead_reference, "limit=7")
    const other = (await call<Lead>("POST", "/v1/leads", { email: "other@example.com" })).body
    const foreign = await call("GET", `/v1/leads/${other.lead_reference}/timeline?cursor=${next_cursor}`)
    expect([foreign.status, foreign.body.details.reason]).to.deep.equal([400, "invalid_cursor"])
  })

  it("are one for each person among rows that come together, by whichever address or number", async () => {
    await call("POST", "/v1/datasets", { name: "Crowd" })
    const phone = (n: number) => `+493090${2_000 + n}`
    const rows = Array.from({ length: 150 }, (_, n) => ({ email: `crowd${n}@example.com`, ...(n % 3 === 0 ? { phone: phone(n) } : {}) }))
    const phones = rows.filter(({ phone: number }) => number !== undefined).map(({ phone: number }) => ({ phone: number, name: "Known" }))
    await call("POST", "/v1/datasets/crowd/rows", { rows: [...rows, ...phones.slice(0, 40)] })
    await leadOf({ email: "crowd149@example.com" })
    const byName = await leadOf({ phone: phone(117) }, ({ name }) => name === "Known")
    expect([byName.emails, byName.possible_duplicates]).to.deep.equal([["crowd117@example.com"], []])
    const all = await Promise.all(rows.map(({ email }) => list(`email=${encodeURIComponent(email)}`)))
    expect(all.map((matches) => matches.length)).to.deep.equal(rows.map(() => 1))
    expect(new Set(all.flat().map((lead) => lead.canonical_lead_id)).size).to.equal(rows.length)
    expect((await timelineWith(byName.lead_reference, 3)).map(({ kind }) => kind).sort()).to.deep.equal([
      "dataset.row_written", "dataset.row_written", "lead.created",
    ]) // biome-ignore format: a list
  })

  it("are found again in rows that nobody told of, once", async () => {
    const { body } = await call<{ id: string }>("POST", "/v1/datasets", { name: "Lost" })
    await call("POST", "/v1/datasets/lost/rows", { rows: [{ email: "kept@example.com" }] })
    const stored = await leadOf({ email: "kept@example.com" })
    const at = new Date(host.clock.now()).toISOString()
    // The state after a node died directly after the commit.
    await host.get(UnitsOfWork).run((work) => {
      const row = { id: crypto.randomUUID(), dataset_id: body.id, values: { email: "lost@example.com" }, created_at: at, updated_at: at }
      work.in(collectionNamed(host, "dataset_rows"), host.organization.id).insert(row)
    })
    host.clock.move(660_000)
    const lost = await leadOf({ email: "lost@example.com" })
    host.clock.move(660_000)
    await call("POST", "/v1/datasets/lost/rows", { rows: [{ email: "last@example.com" }] })
    await leadOf({ email: "last@example.com" })
    for (const lead of [stored, lost]) {
      const kinds = (await timelineOf(lead.lead_reference)).timeline.map(({ kind }) => kind)
      expect(kinds.sort()).to.deep.equal(["dataset.row_written", "lead.created"])
    }
  })

  it("keep the event of rows that nobody told of, also where a replay wrote them", async () => {
    const people = { type: "dataset.write", dataset_slug: "crashed", for_each: "event.people", row: { email: "{{ item }}" } }
    const document = { name: "Crashed", state: "active", auth_mode: "none" }
    const response = await call<{ inbound_url: string; slug: string }>("POST", "/v1/event-pipelines", {
      ...document,
      pipeline: [people, { type: "dataset.write", dataset_slug: "companies", key: "company" }],
    })
    const rows = host.get(Store).open(leadRows(), host.organization.id)
    const recorded = (count: number) =>
      until(`${count} records`, async () => {
        const row = await rows.find({}, { sort: { id: -1 }, limit: 1000 })
        const ours = row.filter(({ dataset }) => dataset === "crashed")
        return ours.length === count && ours
      })
    const accepted = await host.send(response.body, { people: ["one@example.com", "two@example.com"], company: "A" })
    const refused = await host.send(response.body, { people: ["three@example.com", "four@example.com"] })
    expect([accepted.status, refused.status]).to.deep.equal([200, 400])
    const changed = await call("PUT", `/v1/event-pipelines/${response.body.slug}`, { ...document, pipeline: [people] })
    const executions = await call<{ executions: { id: string; status: string }[] }>(
      "GET",
      `/v1/event-pipelines/${response.body.slug}/executions`,
    )
    const failed = executions.body.executions.find(({ status }) => status === "failed")
    const replayed = await call("POST", `/v1/event-pipelines/${response.body.slug}/executions/${failed?.id}/replay`, {})
    expect([changed.status, replayed.body["status"]], JSON.stringify(changed.body)).to.deep.equal([200, "accepted"])
    const recordedRows = await recorded(4)
    expect(new Set(recordedRows.map(({ execution_id }) => execution_id)).size).to.equal(2)
    expect(recordedRows.filter(({ execution_id }) => execution_id === failed?.id)).to.have.length(2)
    expect(new Set(recordedRows.map(({ pipeline: slug }) => slug))).to.deep.equal(new Set([response.body.slug]))
    await host.get(UnitsOfWork).run((work) => {
      for (const { id } of recordedRows) work.in(leadRows(), host.organization.id).remove(id)
    })
    await runJob(host, "leads.catch_up")
    expect(await recorded(4)).to.deep.equal(recordedRows)
  })

  it("are made once by several at once", async () => {
    const responses = await Promise.all(Array.from({ length: 8 }, () => call<Lead>("POST", "/v1/leads", { email: "many@example.com" })))
    const ids = new Set(responses.filter(({ status }) => status === 200).map(({ body }) => body.canonical_lead_id))
    expect(ids.size).to.equal(1)
    expect(await list("email=many%40example.com")).to.have.length(1)
  })

  it("are refused where they cannot be read, and unknown to others", async () => {
    for (const [body, path] of [
      [{ email: "ada" }, "email"],
      [{ phone: "12" }, "phone"],
      [{}, "email"],
    ] as const) {
      const refused = await call("POST", "/v1/leads", body)
      expect([refused.status, refused.body.details.fields?.[0]?.path]).to.deep.equal([400, path])
    }
    expect((await call("PUT", "/v1/lead-settings", { default_region: "XX" })).status).to.equal(400)
    const { lead_reference } = (await call<Lead>("POST", "/v1/leads", { email: "walled@example.com" })).body
    const key = await host.get(UnitsOfWork).run((work) => {
      const { id } = host.get(Organizations).create(work, { name: "Other", slug: "other" })
      return host.get(ApiKeys).mint(work, id, { name: "Key", kind: "api_key", role: "admin", scopes: null, user: null }).text
    })
    for (const path of ["", "/timeline"]) {
      const elsewhere = await call("GET", `/v1/leads/${lead_reference}${path}`, undefined, key)
      expect([elsewhere.status, elsewhere.body.details.reason]).to.deep.equal([404, "lead_not_found"])
    }
    expect((await call<{ leads: Lead[] }>("GET", "/v1/leads?email=walled%40example.com", undefined, key)).body.leads).to.deep.equal([])
    const own = (await call<Lead>("POST", "/v1/leads", { email: "walled@example.com" }, key)).body
    expect(own.lead_reference).to.not.equal(lead_reference)
    const across = await call("POST", `/v1/leads/${own.lead_reference}/merge`, { other_lead_id: lead_reference }, key)
    expect(across.status).to.equal(404)
    const guest = (await call<{ secret: string }>("POST", "/v1/api-keys", { name: "guest", role: "guest" })).body.secret
    expect((await call("GET", "/v1/leads", undefined, guest)).status).to.equal(403)
    const member = (await call<{ secret: string }>("POST", "/v1/api-keys", { name: "member", role: "member" })).body.secret
    expect((await call("PUT", "/v1/lead-settings", { default_region: "US" }, member)).status).to.equal(403)
  })
})
