// Messages beside a silent carrier. No deadline expires in this test.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { until } from "../../waiting.ts"
import { accountSid, connect, type Providers, providerEnv, startProviders } from "./providers.ts"
import { own } from "./webhooks.ts"

const otherNumber = "+493099887766"

describe("messages beside a silent carrier", () => {
  let host: TestHost
  let silent: Providers
  let other: Providers
  before(async () => {
    silent = await startProviders()
    other = await startProviders()
    silent.instead = () => true
    const hosts = [silent, other].map((providers) => providerEnv(providers)["MILLRACE_OUTGOING_ALLOW_HOSTS"]).join(",")
    host = await testHost({ capture: false, env: { MILLRACE_OUTGOING_ALLOW_HOSTS: hosts, MILLRACE_SERVER_DRAIN_MS: "100" } })
    // One in the afternoon in Berlin: messages are sent at once.
    host.clock.set(Date.parse("2026-11-24T12:00:00Z"))
    await connect(host, silent)
    const headers = { Authorization: `Basic ${Buffer.from(`${accountSid}:twilio-token`).toString("base64")}` }
    const credentials = { base_url: other.peer.origin, headers }
    await host.api("POST", "/v1/integrations-connect", { app: "http", name: "Other carrier", share_with_org: true, credentials })
    const sms = { integration: "other-carrier", account_sid: accountSid, status_callback_url: "" }
    const { status } = await host.api("POST", "/v1/voice/phone-numbers", { number: otherNumber, agent_ref: "agent-2", sms })
    expect(status).to.equal(200)
  })
  after(async () => {
    await silent.close()
    await host.stop()
    await other.close()
  })

  it("reach people through another carrier", async () => {
    const send = async (from: string, n: number) => {
      const message = { channel: "sms", from, to: `+49152${10_000_000 + n}`, text: "Hello" }
      expect((await host.api("POST", "/v1/voice/messages", message)).status).to.equal(200)
    }
    await Promise.all(Array.from({ length: 40 }, (_, n) => send(own, n)))
    await until("messages that hang", () => silent.peer.asked.length > 0)
    await Promise.all(Array.from({ length: 20 }, (_, n) => send(otherNumber, 100 + n)))
    await until("20 messages", () => other.sent.length === 20)
    expect(silent.sent).to.have.length(0)
    expect(silent.peer.asked.length).to.be.at.most(18)
  })
})
