// Lists and reads of conversations and numbers: filters, pages, leads, manual opt-outs, and refusals.
import { expect } from "chai"
import { z } from "zod"
import { definePlugin } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { LeadDirectories } from "../../../plugins/people/conversations/index.ts"
import { until } from "../../waiting.ts"
import { chatMessage, conversationOf, conversationsOf, type Endpoints, makePipelines, own, postMeta, postTwilio } from "./webhooks.ts"

const start = Date.now() - 3_600_000
const lead = { id: "0190a7c4-1111-7000-8000-00000000000a", reference: "AZCnxBERcACAAAAAAAAACg", address: "+4915170000001" }

/** Leads as provided by a plugin. */
const leads = definePlugin({
  id: "test-leads",
  needs: ["conversations"],
  config: z.strictObject({}),
  extend: [
    [
      LeadDirectories,
      {
        ofAddresses: async (_, addresses) =>
          new Map(
            addresses
              .filter((address) => address === lead.address)
              .map((address) => [address, { canonical_lead_id: lead.id, lead_reference: lead.reference }]),
          ),
        addressesOf: async (_, ref) => (ref === lead.id || ref === lead.reference ? [lead.address] : []),
      },
    ],
  ],
  register: () => undefined,
})

describe("lists of conversations", () => {
  let host: TestHost
  let urls: Endpoints
  const people = [1, 2, 3].map((n) => `+491517000000${n}`)
  before(async () => {
    host = await testHost({ plugins: [leads] })
    urls = await makePipelines(host)
    for (const [n, person] of people.entries())
      await postMeta(urls.meta, chatMessage(`wamid.l${n}`, person, { at: start + n * 60_000, name: `P${n}`, body: "Hello" }))
    await postTwilio(urls.twilio, { MessageSid: "SMl", From: people[0] ?? "", To: own, Body: "Hello", SmsStatus: "received" })
    await until("all being folded", async () => (await conversationsOf(host, "chatapp")).every(({ message_count }) => message_count === 1))
  })
  after(() => host.stop())

  const path = "/v1/voice/chatapp-conversations"
  const refused = async (method: string, at: string, body?: object) => {
    const answer = await host.api<{ details: { reason: string } }>(method, at, body)
    return [answer.status, answer.body.details.reason]
  }

  it("show exactly what the specification names, most recently active first", async () => {
    const list = await conversationsOf(host, "chatapp")
    expect(list.map(({ address }) => address)).to.deep.equal([...people].reverse())
    expect(list[2]).to.deep.equal({
      address: lead.address,
      agent_ref: "",
      canonical_lead_id: lead.id,
      contact: {},
      created_at: list[2]?.last_inbound_at,
      display_name: "P0",
      idle_closed_at: null,
      last_inbound_at: list[2]?.last_inbound_at,
      last_outbound_at: null,
      last_outbound_message_id: "",
      lead_reference: lead.reference,
      message_count: 1,
      phone_number: own,
      sender_kind: "person",
      session_id: list[2]?.session_id,
      summary: "",
      suppressed: false,
      topics: null,
    })
    expect(JSON.stringify(list), "what was said").to.not.contain("Hello")
  })

  it("filter by number, address and lead, in any form, and take empty values as absent", async () => {
    const findConversations = async (query: string) => (await conversationsOf(host, "chatapp", query)).map(({ address }) => address)
    expect(await findConversations("phone_number=&address=&limit=&cursor=&canonical_lead_id=")).to.have.length(3)
    expect(await findConversations(`address=${people[1]}`), "a plus that the query made a space").to.deep.equal([people[1]])
    expect(await findConversations("address=49%20151%207000-0002")).to.deep.equal([people[1]])
    expect(await findConversations(`phone_number=${encodeURIComponent(own)}&address=4915170000003`)).to.deep.equal([people[2]])
    expect(await findConversations("phone_number=%2B4930000000")).to.deep.equal([])
    expect(await findConversations(`canonical_lead_id=${lead.id}`)).to.deep.equal([lead.address])
    expect(await findConversations(`canonical_lead_id=${lead.reference}`)).to.deep.equal([lead.address])
    expect(await findConversations(`canonical_lead_id=${lead.id}&address=4915170000002`)).to.deep.equal([])
    expect(await findConversations("canonical_lead_id=0190a7c4-1111-7000-8000-00000000000b")).to.deep.equal([])
    expect(await refused("GET", `${path}?canonical_lead_id=nobody`)).to.deep.equal([400, "invalid_fields"])
  })

  it("page by a 64-bit limit and a cursor of their own", async () => {
    type List = { conversations: { address: string }[]; next_cursor: string }
    const page = async (query: string) => (await host.api<List>("GET", `${path}?${query}`)).body
    const first = await page("limit=2")
    const second = await page(`limit=2&cursor=${encodeURIComponent(first.next_cursor)}`)
    expect([...first.conversations, ...second.conversations].map(({ address }) => address)).to.deep.equal([...people].reverse())
    expect(second.next_cursor).to.equal("")
    for (const limit of ["0", "200", "9007199254740993", "9223372036854775807"])
      expect((await page(`limit=${limit}`)).conversations).to.have.length(3)
    for (const limit of ["-1", "1.5", "9223372036854775808", "-9223372036854775809", "18446744073709551616", "many"])
      expect(await refused("GET", `${path}?limit=${limit}`), limit).to.deep.equal([400, "invalid_fields"])
    const elsewhere = `/v1/voice/text-conversations?limit=2&cursor=${encodeURIComponent(first.next_cursor)}`
    expect((await host.api("GET", elsewhere)).status).to.equal(400)
  })

  it("keep an opt-out that is recorded by hand, with who recorded it, and take none back", async () => {
    const message = { channel: "chat_app", address: people[1], wording: "Asked on the telephone." }
    const { body } = await host.api<{ id: string; recorded_by: string | null }>("POST", "/v1/voice/opt-outs", message)
    expect(body).to.deep.include({ kind: "opt_out", source: "operation", message_id: null, wording: message.wording })
    expect(body.recorded_by).to.be.a("string").and.not.equal("")
    expect(await conversationOf(host, "chatapp", people[1] ?? "")).to.include({ suppressed: true })
    const response = await host.api<{ opt_outs: { id: string }[] }>("GET", "/v1/voice/opt-outs?channel=chat_app")
    expect(response.body.opt_outs.map(({ id }) => id)).to.deep.equal([body.id])
    expect((await host.api<{ opt_outs: object[] }>("GET", "/v1/voice/opt-outs?channel=sms")).body.opt_outs).to.deep.equal([])
    expect(await refused("POST", "/v1/voice/opt-outs", { ...message, kind: "opt_in" })).to.deep.equal([400, "invalid_fields"])
    expect((await host.api("DELETE", `/v1/voice/opt-outs/${body.id}`)).status).to.equal(404)
  })

  it("say what is not there, and what a number cannot be", async () => {
    const nobody = "0190a7c4-1111-7000-8000-000000000000"
    const [text] = await conversationsOf(host, "text")
    expect(await refused("GET", `${path}/${nobody}`)).to.deep.equal([404, "conversation_not_found"])
    expect(await refused("GET", `${path}/${text?.session_id}`), "of the other channel").to.deep.equal([404, "conversation_not_found"])
    const numbers = "/v1/voice/phone-numbers"
    expect(await refused("GET", `${numbers}/%2B493011111111`)).to.deep.equal([404, "phone_number_not_found"])
    expect((await host.api("POST", numbers, { number: "+49 (30) 1111-1111" })).body).to.include({ number: "+493011111111" })
    expect(await refused("POST", numbers, { number: "+493011111111" })).to.deep.equal([409, "phone_number_registered"])
    const sms = { integration: "nothing", account_sid: "AC1" }
    expect(await refused("PATCH", `${numbers}/%2B493011111111`, { sms })).to.deep.equal([400, "number_connection_missing"])
    for (const [number, read] of [
      ["\u202a+49 (30) 2222-2221\u202c", "+493022222221"],
      ["tel:+49-30-2222-2222", "+493022222222"],
      ["＋４９３０２２２２２２２３", "+493022222223"],
      ["\u200f+٤٩٣٠٢٢٢٢٢٢٢٤", "+493022222224"],
    ] as const)
      expect((await host.api("POST", numbers, { number })).body, number).to.include({ number: read })
    for (const number of ["12", "+1", "call me", "+4930123456789012345"])
      expect(await refused("POST", numbers, { number }), number).to.deep.equal([400, "invalid_fields"])
    expect((await host.api("DELETE", `${numbers}/%2B493011111111`)).body).to.include({ removed: true })
  })
})
