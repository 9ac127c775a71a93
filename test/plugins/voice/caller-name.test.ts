// Caller names (specification 4.15): no registration without a person, one registration in spite of failures, and only statuses
// reported by Trust Hub.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { problemOfCallerName } from "../../../plugins/people/voice/caller-name.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { eightCalls, ownNumber, startTrustHub, type TrustHubServer } from "./trust-hub.ts"
import { Desk, deskAfresh, type Refusal, voiceEnv } from "./voice-bench.ts"

const standingGate = {
  name: "voice.caller_name",
  risk: "high",
  summary: "Registering a caller name with carriers.",
  operations: ["voice.provision_caller_name"],
  actions: [],
  jobs: [],
  holds: true,
  liftable: false,
}

describe("the rules of caller names", () => {
  it("take 1 to 15 letters, digits, periods, commas and spaces after a letter", () => {
    for (const name of ["A", "Acme", "Acme Sales", "J.R. Sheds, 2", "ABCDEFGHIJKLMNO", "Policemen"]) {
      expect([name, problemOfCallerName(name)]).to.deep.equal([name, undefined])
    }
    for (const [name, problem] of [
      ["", /empty/],
      ["ABCDEFGHIJKLMNOP", /16 characters/],
      ["1st Acme", /begin with a letter/],
      [" Acme", /begin with a letter/],
      ["Ácme", /begin with a letter/],
      ["Acme & Co", /"&"/],
      ["Acme-Co", /"-"/],
      ["Acme\n", /holds/],
      ["Acme  Co", /two in a row/],
      ["Acme ", /ends with a space/],
      ["Scam Likely", /reserved/],
      ["spam, risk", /reserved/],
      ["new york", /reserved/],
      ["City Police", /POLICE/],
      ["F.B.I. Office", /FBI/],
      ["S.C.A.M, Likely", /SCAM LIKELY/],
    ] as const) {
      expect(problemOfCallerName(name), name).to.match(problem)
    }
  })
})

onBothStores("caller names", ({ start }) => {
  let host: TestHost
  let hub: TrustHubServer
  let desk: Desk
  let count = 0
  before(async () => {
    hub = await startTrustHub()
    host = await start({ env: voiceEnv(hub) })
  })
  after(() => hub.close())
  beforeEach(async () => {
    desk = await deskAfresh(host, hub, ++count)
  })

  it("are filed for approval, and not registered by filing", async () => {
    const registration = await desk.filed()
    expect(Object.keys(registration).sort()).to.deep.equal(["action_display", "approval_request_id", "registration", "status"])
    expect(registration.status).to.equal("pending_approval")
    expect(registration.action_display).to.equal(`Register the caller name "Acme Sales" for ${ownNumber} with carriers, through Twilio.`)
    const { body } = await desk.api<{ gate: string; risk: string; what: string; input: object }>(
      "GET",
      `/v1/approvals/${registration.approval_request_id}`,
    )
    expect(body).to.include({ gate: "voice.caller_name", risk: "high", what: registration.action_display })
    expect(body.input).to.include({ name: "Acme Sales", phone_number: ownNumber })
    expect((await desk.file()).body).to.deep.equal(registration)
    expect(hub.asked.filter((call) => call.startsWith("POST"))).to.deep.equal([])
  })

  it("are filed also where the organization holds no gate, and once by calls at once", async () => {
    await desk.api("PUT", "/v1/autonomy-gates", { gates: [] })
    const { body } = await desk.api<{ gates: string[]; known: { name: string }[] }>("GET", "/v1/autonomy-gates")
    expect(body.gates).to.deep.equal([])
    expect(body.known.filter(({ name }) => name.startsWith("voice."))).to.deep.equal([standingGate])
    expect(body.known.find(({ name }) => name === "email.send")).to.include({ holds: false, liftable: true })
    await desk.set()
    const both = await Promise.all([desk.file(), desk.file(desk.second)])
    expect(new Set(both.map(({ body }) => body.approval_request_id)).size).to.equal(1)
    expect(both.map(({ body }) => body.status)).to.deep.equal(["pending_approval", "pending_approval"])
  })

  it("are registered once by Trust Hub's calls in their order, and active once Twilio says so", async () => {
    const registration = await desk.filed()
    const both = await Promise.all([
      desk.decide(registration.approval_request_id, "approve"),
      desk.decide(registration.approval_request_id, "approve"),
    ])
    expect(both.filter(({ status }) => status === 200)).to.have.length(1)
    const submitted = await desk.when("the submission", ({ status }) => status === "submitted")
    expect(hub.acted).to.deep.equal(eightCalls)
    const [product] = hub.items.TrustProducts
    expect(product?.["form"]).to.include({ Email: "ada@acme.example", PolicySid: "RNf3db3cd1fe25fcfd3c3ded065c8fea53" })
    expect(hub.items.EndUsers[0]?.["form"]).to.include({ Type: "cnam_information", Attributes: '{"cnam_display_name":"Acme Sales"}' })
    expect(hub.assigned(product?.sid ?? "").map((item) => String(item["object_sid"]).slice(0, 2))).to.include.members(["IT", "BU", "PN"])
    expect(submitted.trust_product_sid).to.equal(product?.sid)
    const approval = await desk.api<{ state: string; receipt: { ok: boolean } }>("GET", `/v1/approvals/${registration.approval_request_id}`)
    expect([approval.body.state, approval.body.receipt.ok]).to.deep.equal(["done", true])
    // It stays so for as long as Twilio takes, and then follows Twilio's status.
    const checked = submitted.checked_at ?? ""
    await desk.when("another look", ({ checked_at }) => (checked_at ?? "") > checked)
    expect((await desk.registration()).status).to.equal("submitted")
    hub.decide("in-review")
    await desk.when("the review", ({ status }) => status === "in_review")
    hub.decide("twilio-approved")
    await desk.when("the approval of Twilio", ({ status }) => status === "active")
    expect((await desk.file()).body).to.include({ status: "active", approval_request_id: registration.approval_request_id })
    expect(hub.acted).to.deep.equal(eightCalls)
    expect(JSON.stringify([host.logged, (await desk.api("GET", "/v1/audit-log?limit=200")).body])).to.not.contain("SECRET-auth")
  })

  it("are refused before anything is filed", async () => {
    const reasonOf = ({ status, body }: { status: number; body: Refusal }) => [status, body.details.reason]
    expect(reasonOf(await desk.file())).to.deep.equal([400, "caller_name_not_set"])
    for (const phone_number of ["+18005550123", "+16135550123", "+442071838750", "555", "0"]) {
      expect([phone_number, ...reasonOf(await desk.set({ phone_number }))]).to.deep.equal([phone_number, 400, "caller_number_refused"])
    }
    const refused = await desk.set({ name: "Acme & Co" })
    expect([...reasonOf(refused), refused.body.details.fields?.[0]?.path]).to.deep.equal([400, "caller_name_refused", "name"])
    for (const integration of ["nothing", "crm"]) {
      await desk.api("POST", "/v1/integrations-connect", {
        app: "http",
        name: "CRM",
        credentials: { base_url: "https://api.crm.example.com" },
        share_with_org: true,
      })
      await desk.set({ integration })
      expect(reasonOf(await desk.file())).to.deep.equal([400, "twilio_not_connected"])
    }
    await desk.filed()
    await desk.set({ name: "Other" })
    expect(reasonOf(await desk.file())).to.deep.equal([400, "caller_name_in_progress"])
    const { body } = await desk.api<{ approvals: object[] }>("GET", "/v1/approvals")
    expect(body.approvals).to.have.length(1)
  })

  it("are refused where the organization's own name does not fit", async () => {
    const long = await Desk.open(host, `long-${count}`, "Acme Sales and Service")
    await long.connect()
    await long.set()
    const { status, body } = await long.file()
    expect([status, body.details.reason]).to.deep.equal([400, "caller_name_refused"])
  })

  it("are one organization's alone, set by admins", async () => {
    await desk.filed()
    const other = await Desk.open(host, `wall-${count}`)
    expect((await other.api("GET", "/v1/voice/caller-name/registrations")).body).to.deep.equal({ registrations: [], next_cursor: "" })
    expect((await other.api("GET", "/v1/voice/caller-name")).body).to.include({ phone_number: "", registration: null, updated_at: null })
    const member = (await desk.api<{ secret: string }>("POST", "/v1/api-keys", { name: "member", role: "member" })).body.secret
    expect((await desk.api("PUT", "/v1/voice/caller-name", { phone_number: ownNumber, email: "a@b.example" }, member)).status).to.equal(403)
    const guest = (await desk.api<{ secret: string }>("POST", "/v1/api-keys", { name: "guest", role: "guest" })).body.secret
    expect((await desk.file(guest)).status).to.equal(403)
  })
})
