// The caller name of an organization with one admin. No gate setting removes the approval, so a session of that person decides.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { UserSessions } from "../../../plugins/platform/identity/index.ts"
import { patiently } from "../../waiting.ts"
import { startTrustHub, type TrustHubServer } from "./trust-hub.ts"
import { type Desk, deskAfresh, type Refusal, voiceEnv } from "./voice-bench.ts"

interface Members {
  readonly members: readonly { readonly user_id: string; readonly email: string }[]
}

describe("an own request for a caller name", () => {
  let host: TestHost
  let hub: TrustHubServer
  before(async () => {
    hub = await startTrustHub()
    host = await testHost({ capture: false, env: voiceEnv(hub) })
  })
  after(async () => {
    await host.stop()
    await hub.close()
  })

  const userOf = async (desk: Desk, name: string) => {
    const { body } = await desk.api<Members>("GET", "/v1/members")
    return body.members.find(({ email }) => email.startsWith(`${name}@`))?.user_id ?? ""
  }
  const sessionOf = (desk: Desk, user: string) =>
    host.get(UnitsOfWork).run((work) => {
      const input = { user, organization: desk.organization, method: "email_code", device: "Test", address: "127.0.0.1" } as const
      return host.get(UserSessions).open(work, input).text
    })
  const approve = async (id: string, key: string) => {
    const path = `/v1/approvals/${id}/decide`
    const { status, body } = await patiently(() => host.api<Refusal>("POST", path, { decision: "approve" }, { key }))
    return status === 200 ? "approved" : body.details.reason
  }

  it("is approved in a session of the only admin, and by no key", async () => {
    const desk = await deskAfresh(host, hub, 1)
    const [own, other] = [await userOf(desk, "one"), await userOf(desk, "two")]
    expect((await desk.api("DELETE", `/v1/members/${other}`)).status).to.equal(200)
    const filed = await desk.filed()
    expect(filed.status).to.equal("pending_approval")
    const response = await desk.api<{ secret: string }>("POST", "/v1/api-keys", { name: "Other", role: "admin" })
    for (const key of [desk.key, response.body.secret]) expect(await approve(filed.approval_request_id, key)).to.equal("own_request")
    expect(await approve(filed.approval_request_id, await sessionOf(desk, own))).to.equal("approved")
    await desk.when("the registration", ({ status }) => status === "submitted")
  })

  it("is approved by the second admin while one exists", async () => {
    const desk = await deskAfresh(host, hub, 2)
    const filed = await desk.filed()
    expect(await approve(filed.approval_request_id, await sessionOf(desk, await userOf(desk, "one")))).to.equal("own_request")
    expect(await approve(filed.approval_request_id, await sessionOf(desk, await userOf(desk, "two")))).to.equal("approved")
    await desk.when("the registration", ({ status }) => status === "submitted")
  })
})
