// Shared phone numbers, extensions, and invalid numbers.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { ConversationLeads } from "../../../plugins/people/conversations/index.ts"
import { normalPhone, validPhone } from "../../../plugins/people/leads/phone-number.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { patiently, until } from "../../waiting.ts"

interface Lead {
  readonly canonical_lead_id: string
  readonly emails: string[]
  readonly phones: string[]
  readonly possible_duplicates: string[]
}

describe("numbers in rows", () => {
  const read = (region: string, texts: readonly string[]) => texts.map((text) => [text, validPhone(text, region)])
  const all = (texts: readonly string[], number: string | undefined) => texts.map((text) => [text, number])

  it("keep their extension", () => {
    const texts = [
      "+1 415-555-2744 ext. 123", "+1 (415) 555-2744 x123", "tel:+1-415-555-2744;ext=123", "+14155552744;ext=123",
      "+1 415-555-2744 Durchwahl 123", "+1 415-555-2744 (poste 123)", "+1 415-555-2744 доб. 123",
    ] // biome-ignore format: a list
    expect(read("DE", texts)).to.deep.equal(all(texts, "+14155552744;ext=123"))
    expect(normalPhone("+4930901820 ext. 5", "")).to.equal("+4930901820;ext=5")
  })

  it("read letters as the keys of a phone", () => {
    const texts = ["1-800-FLOWERS", "+1 800 flowers", "(800) 356-9377", "1 800 FLOWERSNOW"]
    expect(read("US", texts)).to.deep.equal(all(texts, "+18003569377"))
    const words = ["123 Main Street", "call me", "FLOWERS", "see 2nd floor"]
    expect(read("US", words)).to.deep.equal(all(words, undefined))
  })

  it("are read without a label, hidden characters and full-width digits", () => {
    const texts = [
      "Tel.: 030 901820",
      "Mobil 030 901820",
      "\u202A+49 30\u00A0901820\u202C",
      "０３０ ９０１８２０",
      "tel:+4930901820",
      "\uFEFF030\u00AD901820",
    ]
    expect(read("DE", texts)).to.deep.equal(all(texts, "+4930901820"))
  })

  it("are valid in their country", () => {
    const texts = [
      "12345", "123456", "0123456789", "1234567890", "987654321", "00000000", "0000000000", "2024-01-15", "15.01.2024", "1/15/2024",
      "20240115", "2024-01-15 10:30", "Room 312", "312", "A-4711", "RE-2024-0001", "20240001", "#100234", "n/a", "-", "+12345",
    ] // biome-ignore format: a list
    for (const region of ["DE", "AT", "US", "FR"]) expect([region, read(region, texts)]).to.deep.equal([region, all(texts, undefined)])
  })
})

onBothStores("leads that share a number", ({ start }) => {
  let host: TestHost
  before(async () => {
    host = await start({ env: { MILLRACE_JOBS_POLL_MS: "50" } })
    await host.api("PUT", "/v1/lead-settings", { default_region: "DE" })
    await host.api("POST", "/v1/datasets", { name: "Callers" })
  })

  const list = async (query = "") => (await patiently(() => host.api<{ leads: Lead[] }>("GET", `/v1/leads?limit=200&${query}`))).body.leads
  const insert = async (...rows: object[]) => {
    const { status } = await patiently(() => host.api("POST", "/v1/datasets/callers/rows", { rows }))
    expect(status).to.equal(200)
  }
  const leadsAt = async (domain: string, count: number) => {
    await insert({ email: `last@${domain}` })
    return until(`the leads of ${domain}`, async () => {
      const matches = (await list()).filter(({ emails }) => emails.some((email) => email.endsWith(`@${domain}`)))
      return matches.some(({ emails }) => emails.includes(`last@${domain}`)) && matches.length > count ? matches : undefined
    })
  }
  const recordSeen = (phone: string) =>
    host
      .get(ConversationLeads)
      .seen(host.organization.id, { address: phone, name: "", at: new Date(host.clock.now()).toISOString() }, () => {})
  /** One lead per address. Only one has the number; the others name it as a possible duplicate. */
  const expectApart = (leads: readonly Lead[], phone: string) => {
    const sharing = leads.filter(({ emails }) => !emails.some((address) => address.startsWith("last@")))
    expect(sharing.map(({ emails }) => emails.length)).to.deep.equal(sharing.map(() => 1))
    expect(sharing.map(({ phones }) => phones.join()).sort()).to.deep.equal([...sharing.slice(1).map(() => ""), phone])
    const owner = sharing.find(({ phones }) => phones.length > 0)
    const others = sharing.filter((lead) => lead !== owner)
    for (const { possible_duplicates } of others) expect(possible_duplicates).to.deep.equal([owner?.canonical_lead_id])
    expect(owner?.possible_duplicates).to.have.members(others.map(({ canonical_lead_id }) => canonical_lead_id))
  }
  const rowsOf = (domain: string, phone: string) => ["a", "b", "c"].map((name) => ({ email: `${name}@${domain}`, phone }))

  it("are one for each address, in one call and in several", async () => {
    await insert(...rowsOf("batch.example", "+49 30 7000001"))
    expectApart(await leadsAt("batch.example", 3), "+49307000001")
    for (const row of rowsOf("single.example", "030 7000002")) {
      await insert(row)
      await until("the row's lead", async () => (await list(`email=${encodeURIComponent(row.email)}`))[0])
    }
    expectApart(await leadsAt("single.example", 3), "+49307000002")
  })

  it("are one for each address, by hand and through a pipeline", async () => {
    const emails = rowsOf("hand.example", "").map(({ email }) => email)
    for (const email of emails) await patiently(() => host.api("POST", "/v1/leads", { email, phone: "+49307000003" }))
    expectApart(await leadsAt("hand.example", 3), "+49307000003")
    const form = await host.api<{ inbound_url: string }>("POST", "/v1/event-pipelines", {
      name: "Form",
      state: "active",
      auth_mode: "none",
      pipeline: [{ type: "dataset.write", dataset_slug: "callers" }],
    })
    await Promise.all(rowsOf("form.example", "+49307000004").map((row) => host.send(form.body, row)))
    expectApart(await leadsAt("form.example", 3), "+49307000004")
  })

  it("stay apart if the number wrote by chat app, before and after", async () => {
    await recordSeen("+49307000005")
    await insert(...rowsOf("before.example", "+49307000005"))
    const before = await leadsAt("before.example", 3)
    expectApart(before, "+49307000005")
    await insert(...rowsOf("after.example", "+49307000006"))
    const after = await leadsAt("after.example", 3)
    await recordSeen("+49307000006")
    expectApart(await leadsAt("after.example", 3), "+49307000006")
    const [owner] = await list("phone=%2B49307000006")
    expect(after.map(({ canonical_lead_id }) => canonical_lead_id)).to.include(owner?.canonical_lead_id)
  })

  it("have no number from placeholders, and differ by extension", async () => {
    await insert(
      { email: "d@fake.example", phone: "12345" },
      { email: "e@fake.example", phone: 12345 },
      { email: "f@fake.example", phone: "2024-01-15" },
    )
    const fake = await leadsAt("fake.example", 3)
    expect(fake.map(({ phones, possible_duplicates }) => [phones, possible_duplicates])).to.deep.equal(fake.map(() => [[], []]))
    await insert({ phone: "+49 30 7000007 ext. 1", email: "one@desk.example" }, { phone: "+49 30 7000007 x2", email: "two@desk.example" })
    const desks = await leadsAt("desk.example", 2)
    expect(desks.flatMap(({ phones }) => phones).sort()).to.deep.equal(["+49307000007;ext=1", "+49307000007;ext=2"])
    expect(desks.flatMap(({ possible_duplicates }) => possible_duplicates)).to.deep.equal([])
  })
})
