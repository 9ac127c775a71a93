// Faults between a person's approval and the carrier's: lost calls, refused calls and unexpected answers. One registration, and
// only statuses reported by Trust Hub.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { sampleOf } from "../../tier.ts"
import { eightCalls, startTrustHub, type TrustHubServer } from "./trust-hub.ts"
import { Desk, deskAfresh, voiceEnv } from "./voice-bench.ts"

describe("registering a caller name", () => {
  let host: TestHost
  let hub: TrustHubServer
  let desk: Desk
  let count = 0
  before(async () => {
    hub = await startTrustHub()
    host = await testHost({ capture: false, env: voiceEnv(hub) })
  })
  after(async () => {
    await host.stop()
    await hub.close()
  })
  beforeEach(async () => {
    desk = await deskAfresh(host, hub, ++count)
  })

  const approved = async () => {
    const registration = await desk.filed()
    expect((await desk.decide(registration.approval_request_id, "approve")).status).to.equal(200)
    return registration
  }

  it("are rejected with each of the carrier's reasons, and filed again", async () => {
    await approved()
    await desk.when("the submission", ({ status }) => status === "submitted")
    hub.decide("twilio-rejected", [{ code: 18600, message: "The name is misleading" }, 18605])
    const { reasons } = await desk.when("the rejection", ({ status }) => status === "rejected")
    expect(reasons).to.deep.equal([
      { code: "18600", message: "The name is misleading" },
      { code: "18605", message: "Twilio's error 18605." },
    ])
    expect((await desk.set({ name: "Acme Corp" })).status).to.equal(200)
    const again = (await desk.file()).body
    expect([again.status, again.registration.name]).to.deep.equal(["pending_approval", "Acme Corp"])
    const list = await desk.api<{ registrations: { name: string }[] }>("GET", "/v1/voice/caller-name/registrations")
    expect(list.body.registrations.map(({ name }) => name)).to.deep.equal(["Acme Corp", "Acme Sales"])
  })

  it("are not submitted where the evaluation finds faults", async () => {
    hub.complies = false
    const registration = await approved()
    const { reasons } = await desk.when("the rejection", ({ status }) => status === "rejected")
    expect(reasons.map(({ code }) => code)).to.deep.equal(["18601", "18602"])
    expect(hub.acted).to.deep.equal(eightCalls.slice(0, -1))
    const { body } = await desk.api<{ state: string }>("GET", `/v1/approvals/${registration.approval_request_id}`)
    expect(body.state).to.equal("failed")
  })

  it("are not registered where a person rejects them, edits them to something else, or nobody decides", async () => {
    await desk.decide((await desk.filed()).approval_request_id, "reject", { note: "Not this name." })
    const rejected = await desk.when("the rejection", ({ status }) => status === "rejected")
    expect(rejected.reasons).to.deep.equal([{ code: "not_approved", message: "A person rejected it. Not this name." }])
    const { secret, id } = (await desk.api<{ secret: string; id: string }>("POST", "/v1/api-keys", { name: "gone", role: "admin" })).body
    const asked = (await desk.file(secret)).body
    await desk.api("POST", `/v1/api-keys/${id}/revoke`, {})
    await desk.decide(asked.approval_request_id, "approve")
    const revoked = await desk.when("the refusal", ({ id, status }) => id === asked.registration.id && status === "rejected")
    expect(revoked.reasons[0]?.message).to.contain("may not ask any longer")
    await desk.decide((await desk.filed()).approval_request_id, "edit", { input: {} })
    const edited = await desk.when("the rejection", ({ status }) => status === "rejected")
    expect(edited.reasons[0]?.message).to.equal("The edited input is not a caller name.")
    await desk.filed()
    host.clock.move(8 * 86_400_000)
    const expired = await desk.when("the expiry", ({ status }) => status === "rejected")
    expect(expired.reasons[0]?.message).to.equal("Nobody approved it in time.")
    expect(hub.acted).to.deep.equal([])
  })

  for (const call of sampleOf([...new Set(eightCalls)])) {
    const [, path = "", within] = call.split(" ")
    it(`are registered once where the answer of ${call} is lost after it acted`, async () => {
      const last = within ?? path
      const times = last === "EntityAssignments" ? 2 : 1
      hub.fault(`POST ${last}`, "lost_after", times)
      await approved()
      await desk.when("the submission", ({ status }) => status === "submitted")
      // Repeated evaluations change nothing; all other objects are found again.
      expect(hub.acted.filter((action) => !action.endsWith("Evaluations"))).to.deep.equal(
        eightCalls.filter((eightCall) => !eightCall.endsWith("Evaluations")),
      )
      expect([hub.items.TrustProducts.length, hub.items.EndUsers.length]).to.deep.equal([1, 1])
    })
  }

  for (const fault of sampleOf(["lost_before", "error", "malformed", "unauthorized"] as const)) {
    it(`are approved until Trust Hub answers, where it is ${fault}`, async () => {
      hub.fault("POST TrustProducts", fault, 3)
      hub.fault("GET CustomerProfiles", fault, 1)
      await approved()
      const failing = await desk.when("the fault", ({ last_error }) => last_error !== "")
      expect([failing.status, failing.trust_product_sid]).to.deep.equal(["approved", ""])
      const { last_error } = await desk.when("the submission", ({ status }) => status === "submitted")
      expect(last_error).to.equal("")
      expect(hub.acted).to.deep.equal(eightCalls)
      hub.fault("GET TrustProduct", fault, 2)
      await desk.when("the fault of a poll", (registration) => registration.last_error !== "")
      expect((await desk.registration()).status).to.equal("submitted")
      hub.decide("twilio-approved")
      await desk.when("the approval of Twilio", ({ status }) => status === "active")
    })
  }

  it("keep the status where Trust Hub says something that nobody knows", async () => {
    await approved()
    await desk.when("the submission", ({ status }) => status === "submitted")
    hub.decide("twilio-wonders")
    const { last_error } = await desk.when("the error", (registration) => registration.last_error !== "")
    expect(last_error).to.contain("twilio-wonders")
    expect((await desk.registration()).status).to.equal("submitted")
  })

  it("are rejected with the code of a call that Twilio refuses", async () => {
    hub.fault("POST ChannelEndpointAssignments", "refused")
    await approved()
    const { reasons } = await desk.when("the rejection", ({ status }) => status === "rejected")
    expect(reasons).to.deep.equal([{ code: "22215", message: "The number is in another trust product" }])
    expect(hub.items.TrustProducts).to.deep.equal([])
  })

  it("are asked for at once where Trust Hub calls back, by a signed URL alone", async () => {
    const registration = await approved()
    await desk.when("the submission", ({ status }) => status === "submitted")
    const form = hub.items.TrustProducts[0]?.["form"] as { StatusCallback: string }
    const url = form.StatusCallback.replace("https://calls.example.com", host.url)
    const other = (await Desk.open(host, `other-${count}`)).organization
    for (const forged of [
      `${url}x`,
      url.replace(registration.registration.id, crypto.randomUUID()),
      url.replace(desk.organization, other),
    ]) {
      expect((await fetch(forged, { method: "POST" })).status).to.equal(404)
    }
    // The callback's status is not trusted.
    const before = await desk.registration()
    expect((await fetch(url, { method: "POST", body: "Status=twilio-approved" })).status).to.equal(204)
    await desk.when("a look", ({ checked_at }) => checked_at !== before.checked_at)
    expect((await desk.registration()).status).to.equal("submitted")
    hub.decide("twilio-approved")
    await fetch(url, { method: "POST" })
    await desk.when("the approval of Twilio", ({ status }) => status === "active")
    hub.decide("twilio-rejected", [18600])
    await fetch(url, { method: "POST" })
    await desk.when("the withdrawal", ({ status }) => status === "rejected")
  })
})
