// One registration whose service is killed after each of Trust Hub's calls acted, before its answer is read.
import { expect } from "chai"
import { apiOf, freshFolder, type ServiceProcess, startService } from "../../crash/service-process.ts"
import { until } from "../../waiting.ts"
import { accountSid, authToken, eightCalls, ownNumber, startTrustHub } from "./trust-hub.ts"
import { type Filed, type Registration, voiceEnv } from "./voice-bench.ts"

describe("a caller name whose service is killed after each of the eight calls", () => {
  it("is registered once, and is what Trust Hub says", async () => {
    const hub = await startTrustHub()
    const folder = freshFolder()
    const options = { dataDir: folder.path, env: voiceEnv(hub) }
    let service: ServiceProcess = await startService(options)
    try {
      const api = () => apiOf(service, folder.path)
      const credentials = { username: accountSid, password: authToken }
      await api()("POST", "/v1/integrations-connect", { app: "twilio", credentials, share_with_org: true })
      await api()("PUT", "/v1/voice/caller-name", { name: "Acme Sales", phone_number: ownNumber, email: "ada@acme.example" })
      const filed = await api()<Filed>("POST", "/v1/voice/caller-name", {})
      const { secret } = await api()<{ secret: string }>("POST", "/v1/api-keys", { name: "second admin", role: "admin" })
      const kills = eightCalls.map((call) => `POST ${call.split(" ").at(-1)}`)
      hub.fault(kills[0] ?? "", "held_after")
      const decided = await fetch(`${service.url}/v1/approvals/${filed.approval_request_id}/decide`, {
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        body: JSON.stringify({ decision: "approve" }),
      })
      expect(decided.status).to.equal(200)
      for (const [index, next] of [...kills.slice(1), undefined].entries()) {
        const acted = await until(
          `call ${index + 1}`,
          () => hub.acted.filter((call) => call === eightCalls[index]).length > 0 && hub.acted.length,
        )
        await service.kill()
        if (next !== undefined) hub.fault(next, "held_after", 1)
        expect(hub.acted).to.have.length(acted)
        service = await startService(options)
      }
      const registration = () => api()<{ registration: Registration }>("GET", "/v1/voice/caller-name").then((body) => body.registration)
      await until("the submission", async () => (await registration()).status === "submitted")
      hub.decide("twilio-approved")
      // A look a quarter of a minute after the submission.
      await until("the approval of Twilio", async () => (await registration()).status === "active")
      expect(hub.acted.filter((call) => !call.endsWith("Evaluations"))).to.deep.equal(
        eightCalls.filter((call) => !call.endsWith("Evaluations")),
      )
      expect([hub.items.TrustProducts.length, hub.items.EndUsers.length]).to.deep.equal([1, 1])
    } finally {
      await service.kill()
      await hub.close()
      folder.remove()
    }
  })
})
