// One registration with its service killed after calls took effect in Trust Hub, before their answers: in the soak after each of
// the eight calls.
import { expect } from "chai"
import { testHost } from "#core/testing"
import { freshFolder, type ServiceProcess, startService } from "../../crash/service-process.ts"
import { isSoak } from "../../tier.ts"
import { patiently, untilProcess as until } from "../../waiting.ts"
import { eightCalls, startTrustHub } from "./trust-hub.ts"
import { Desk, type Registration, voiceEnv } from "./voice-bench.ts"

describe("a caller name of which Trust Hub says nothing", () => {
  it("is approved until it answers, and is registered once", async () => {
    const hub = await startTrustHub()
    const host = await testHost({ capture: false, env: { ...voiceEnv(hub), MILLRACE_OUTGOING_TIMEOUT_MS: "1000" } })
    try {
      const desk = await Desk.open(host, "silent")
      await desk.connect()
      await desk.set()
      const { approval_request_id } = (await desk.file()).body
      hub.fault("POST TrustProducts", "held_after")
      hub.fault("POST TrustProduct", "held_after")
      await desk.decide(approval_request_id, "approve")
      const { status, last_error } = await until("the time-out", async () => {
        const registration = await desk.registration()
        return registration.last_error === "" ? undefined : registration
      })
      expect([status, last_error]).to.deep.equal(["approved", last_error])
      await desk.when("the submission", (registration) => registration.status === "submitted")
      expect(hub.acted.filter((call) => !call.endsWith("Evaluations"))).to.deep.equal(
        eightCalls.filter((call) => !call.endsWith("Evaluations")),
      )
    } finally {
      await host.stop()
      await hub.close()
    }
  })
})

/** Indexes of the calls. */
const killedAfter = isSoak ? [...eightCalls.keys()] : [1, 3, 7]

describe("a caller name whose service is killed after calls", () => {
  it("is registered once, and is what Trust Hub says", async () => {
    const hub = await startTrustHub()
    const folder = freshFolder()
    const options = { dataDir: folder.path, env: voiceEnv(hub) }
    const host = await testHost({ capture: false, ...options })
    const desk = await Desk.open(host, "killed")
    await desk.connect()
    await desk.set()
    const filed = (await desk.file()).body
    await host.stop()
    let service: ServiceProcess = await startService(options)
    const call = async <T>(method: string, path: string, key: string, body?: object) => {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
      const message = body === undefined ? {} : { body: JSON.stringify(body) }
      const answer = await patiently(() => fetch(service.url + path, { method, headers, ...message }))
      expect(answer.status).to.equal(200)
      return (await answer.json()) as T
    }
    try {
      const hold = (index: number) => hub.fault(`POST ${eightCalls[index]?.split(" ").at(-1)}`, "held_after")
      const alike = (calls: readonly string[], index: number) => calls.filter((call) => call === eightCalls[index]).length
      hold(killedAfter[0] ?? 0)
      await call("POST", `/v1/approvals/${filed.approval_request_id}/decide`, desk.second, { decision: "approve" })
      for (const [place, index] of killedAfter.entries()) {
        // Two of the calls are equal.
        const expected = alike(eightCalls.slice(0, index + 1), index)
        const acted = await until(`call ${index + 1}`, () => alike(hub.acted, index) >= expected && hub.acted.length)
        await service.kill()
        const next = killedAfter[place + 1]
        if (next !== undefined) hold(next)
        expect(hub.acted).to.have.length(acted)
        service = await startService(options)
      }
      const registration = async () => (await call<{ registration: Registration }>("GET", "/v1/voice/caller-name", desk.key)).registration
      await until("the submission", async () => (await registration()).status === "submitted")
      hub.decide("twilio-approved")
      // A check a quarter of a minute after the submission.
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
