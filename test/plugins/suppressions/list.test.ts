// The suppression list for people of an organization, and its effect on every sender of mail.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import { Mailer, normalAddress } from "../../../plugins/people/email/index.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { patiently, until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { listenForMail, type MailServer } from "../email/mail-server.ts"

interface Suppression {
  readonly id: string
  readonly address: string
  readonly reason: string
  readonly source: string
  readonly evidence: Record<string, string | null>
  readonly details: { reason?: string; fields?: { path: string }[] }
}
interface Listed {
  readonly suppressions: Suppression[]
  readonly next_cursor: string
}
interface Step {
  readonly state: string
  readonly result: { message_id: string | null; skipped: string | null; accepted: string[]; suppressed: unknown[] } | null
}

const path = "/v1/suppressions"

describe("addresses on the suppression list", () => {
  it("are the same in any case, script form and normal form, and differ behind a plus", () => {
    for (const [address, normal] of [
      ["Ada@Example.COM", "ada@example.com"],
      ["ada@MÜNCHEN.de", "ada@xn--mnchen-3ya.de"],
      ["jose\u0301@example.com", "jos\u00e9@example.com"],
      ["ÅDA@example.com", "åda@example.com"],
      ["ada+news@example.com", "ada+news@example.com"],
      ["a.d.a@gmail.com", "a.d.a@gmail.com"],
      ["a\u200Bda@exam\u00ADple.com\u200E", "ada@example.com"],
    ] as const)
      expect(normalAddress(address)).to.equal(normal)
  })
})

onBothStores("suppressions", ({ start }) => {
  let host: TestHost
  let mailbox: MailServer
  let answers: (recipient: string) => string | number | undefined
  before(async () => {
    mailbox = await listenForMail((recipient) => answers(recipient))
    host = await start({ env: pluginSettings({ email: { transport: "smtp", url: mailbox.url, from: "Service <no-reply@service.test>" } }) })
  })
  beforeEach(() => {
    answers = () => undefined
    mailbox.received.length = 0
  })
  after(() => mailbox.close())

  const api = <T>(method: string, at: string, body?: object, key?: string) =>
    patiently(() => host.api<T>(method, at, body, key === undefined ? {} : { key }))
  const add = async (body: object, key?: string) => (await api<Suppression>("POST", path, body, key)).body
  const list = async (query: string, key?: string) => (await api<Listed>("GET", `${path}?${query}`, undefined, key)).body
  const mailer = () => host.get(Mailer)
  const message = (to: string, more: object = {}) => ({
    organization: host.organization.id,
    to,
    heading: "Hello",
    idempotencyKey: `to ${to} ${JSON.stringify(more)}`,
    at: "2026-01-02T03:04:05.006Z",
    ...more,
  })
  const elsewhere = () =>
    host.get(UnitsOfWork).run((work) => {
      const organization = host.get(Organizations).create(work, { name: "Other" })
      const input = { name: "Key", kind: "api_key", role: "admin", scopes: null, user: null } as const
      return { id: organization.id, key: host.get(ApiKeys).mint(work, organization.id, input).text }
    })

  it("are entered once for an address and reason, found by address, and removed by an admin", async () => {
    const entry = await add({ address: " Ada@Example.com", note: "Asked for it." })
    expect(entry).to.deep.include({ address: "ada@example.com", reason: "manual", source: "operation" })
    expect(entry.evidence).to.include({ message_id: null, smtp_status: null, report: "Asked for it." })
    expect(entry.evidence["credential_id"]).to.be.a("string")
    expect(await add({ address: "ADA@EXAMPLE.COM", note: "Again." })).to.deep.equal(entry)
    const both = await Promise.all([add({ address: "at-once@example.com" }), add({ address: "At-Once@example.com" })])
    expect(both[0]?.id).to.equal(both[1]?.id)
    const other = await add({ address: "ada@example.com", reason: "unsubscribe" })
    const findIds = async (query: string) => (await list(query)).suppressions.map(({ id }) => id)
    expect(await findIds("address=aDa@example.com")).to.have.members([entry.id, other.id])
    expect(await findIds("address=aDa@example.com&reason=unsubscribe&source=operation")).to.deep.equal([other.id])
    expect(await findIds("address=ad@example.com")).to.deep.equal([])
    const first = await list("limit=1")
    const second = await list(`limit=1&cursor=${first.next_cursor}`)
    expect([...first.suppressions, ...second.suppressions].map(({ address }) => address)).to.deep.equal([
      "ada@example.com",
      "at-once@example.com",
    ])

    const member = (await api<{ secret: string }>("POST", "/v1/api-keys", { name: "member", role: "member" })).body.secret
    expect((await api("DELETE", `${path}/${entry.id}`, undefined, member)).status).to.equal(403)
    const removed = await Promise.all([1, 2].map(() => api<Suppression>("DELETE", `${path}/${entry.id}`)))
    expect(removed.map(({ status }) => status).sort()[0]).to.equal(200)
    expect((await api<Suppression>("GET", `${path}/${entry.id}`)).body.details.reason).to.equal("suppression_not_found")
    expect((await api<Suppression>("GET", `${path}/${other.id}`)).body).to.deep.equal(other)
    const audited = await api<{ audit_entries: object[] }>("GET", "/v1/audit-log?operation=suppressions.remove")
    expect(JSON.stringify(audited.body)).to.contain(entry.id)
    for (const body of [{ address: "nobody" }, { address: "a@b.test", reason: "hard_bounce" }])
      expect((await api<Suppression>("POST", path, body)).status).to.equal(400)
  })

  it("hold back what their reason is for, and nothing of another organization", async () => {
    const other = await elsewhere()
    await add({ address: "refuser@example.com", reason: "unsubscribe" })
    await add({ address: "barred@example.com" })
    expect(await list("", other.key)).to.deep.equal({ suppressions: [], next_cursor: "" })
    const { id } = await add({ address: "mine@example.com" }, other.key)
    expect((await api<Suppression>("GET", `${path}/${id}`)).body.details.reason).to.equal("suppression_not_found")
    expect((await api("DELETE", `${path}/${id}`)).status).to.equal(404)
    const outcome = async (to: string, category: string, organization = host.organization.id) => {
      const { message_id, suppressed } = await mailer().send(message(to, { category, organization }))
      return message_id === null ? suppressed[0]?.reason : "sent"
    }
    for (const [to, ...expected] of [
      ["refuser@example.com", "unsubscribe", "sent", "sent"],
      ["BARRED@example.com", "manual", "manual", "sent"],
      ["mine@example.com", "sent", "sent", "sent"],
    ] as const) {
      const outcomes = [await outcome(to, "marketing"), await outcome(to, "transactional"), await outcome(to, "notice")]
      expect([to, ...outcomes]).to.deep.equal([to, ...expected])
    }
    expect(await outcome("barred@example.com", "marketing", other.id)).to.equal("sent")
    expect(await outcome("mine@example.com", "transactional", other.id)).to.equal("manual")
    expect(mailbox.received.map(({ recipients }) => recipients[0])).to.have.length(7)
    const some = await mailer().send(message("barred@example.com, ada@acme.test", { bcc: "Barred@example.com, bob@acme.test" }))
    expect(some).to.deep.include({ accepted: ["ada@acme.test", "bob@acme.test"], rejected: [] })
    expect(some.suppressed).to.deep.equal([{ address: "barred@example.com", reason: "manual" }])
    expect(mailbox.received.at(-1)?.raw).to.not.contain("barred@example.com")
  })

  it("are obeyed by a step that was accepted before, which tells so in the journal", async () => {
    answers = () => 451
    const response = await api<{ slug: string; inbound_url: string }>("POST", "/v1/event-pipelines", {
      name: "Thank",
      state: "active",
      auth_mode: "none",
      pipeline: [{ id: "thank", type: "email.send", to: "{{ event.email }}", heading: "Thanks" }],
    })
    const { body } = await patiently(() => host.send<{ execution_id: string }>(response.body, { email: "Late@example.com" }))
    const step = async () => {
      const at = `/v1/event-pipelines/${response.body.slug}/executions/${body.execution_id}`
      return (await api<{ steps: Record<string, Step & { attempts: number }> }>("GET", at)).body.steps["thank"]
    }
    await until("the first try", async () => ((await step())?.attempts ?? 0) > 0)
    const entry = await add({ address: "late@example.com" })
    answers = () => undefined
    const finalStep = await until("the step", async () => {
      host.clock.move(60_000)
      const now = await step()
      return now?.state === "done" ? now : undefined
    })
    expect(finalStep.result).to.deep.include({ message_id: null, skipped: "suppressed", accepted: [] })
    expect(finalStep.result?.suppressed).to.deep.equal([{ address: "Late@example.com", reason: "manual" }])
    expect(mailbox.received).to.have.length(0)
    await api("DELETE", `${path}/${entry.id}`)
    const again = await patiently(() => host.send<{ execution_id: string }>(response.body, { email: "late@example.com" }))
    expect(again.status).to.equal(200)
    await until("the mail", () => mailbox.received.length === 1)
  })

  it("come from a mail server that knows no such address, and from nothing else that it refuses", async () => {
    const replies: Record<string, string> = {
      gone: "550 5.1.1 No such user here",
      moved: "550 5.1.6 The mailbox has moved",
      policy: "550 5.7.1 Not from you",
      full: "552 5.2.2 Mailbox full",
      plain: "550 no",
      busy: "451 4.2.1 Later",
    }
    answers = (recipient) => replies[recipient.split("@")[0] ?? ""]
    for (const name of Object.keys(replies)) {
      const receipt = await mailer()
        .send(message(`${name}@example.com`))
        .catch((error: Error) => error.message)
      expect(receipt, name).to.contain(replies[name])
    }
    const bounced = (await list("reason=hard_bounce")).suppressions
    expect(bounced.map(({ address }) => address)).to.have.members(["gone@example.com", "moved@example.com"])
    const suppression = bounced.find(({ address }) => address === "gone@example.com")
    expect(suppression).to.deep.include({ source: "smtp" })
    expect(suppression?.evidence).to.deep.include({ smtp_status: "5.1.1", report: "550 5.1.1 No such user here", credential_id: null })
    expect(suppression?.evidence["message_id"]).to.match(/^<[0-9a-f]{40}@service\.test>$/)
    answers = () => undefined
    expect(await mailer().send(message("gone@example.com", { category: "notice" }))).to.deep.include({ message_id: null })
    answers = (recipient) => (recipient.startsWith("dead") ? "550 5.1.1 Unknown" : undefined)
    expect(await mailer().send(message("fine@example.com, dead@example.com"))).to.deep.include({ rejected: ["dead@example.com"] })
    expect((await list("address=dead@example.com")).suppressions).to.have.length(1)
    expect(mailbox.received).to.have.length(1)
  })
})
