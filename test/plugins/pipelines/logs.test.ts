// Console output of a transform, for readers of its event.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"

interface Logged {
  readonly logs: { level: string; text: string }[]
  readonly cause: string
}

describe("logs of transforms", () => {
  let host: TestHost
  const path = "/v1/event-pipelines/talkative"
  before(async () => {
    host = await testHost()
    const transform_js =
      "function transform(event) { console.log('came', event); if (event.fail) throw new Error('no'); return { email: event.email } }"
    const response = await host.api("POST", "/v1/event-pipelines", {
      name: "Talkative",
      state: "active",
      source_kind: "internal",
      transform_js,
    })
    expect(response.status, JSON.stringify(response.body)).to.equal(200)
  })
  after(() => host.stop())

  const sendEvent = async (payload: object) =>
    (await host.api<{ execution_id: string }>("POST", `${path}/events`, { payload })).body.execution_id
  const logged = async (payload: object, key = host.adminKey) =>
    (await host.api<Logged>("GET", `${path}/executions/${await sendEvent(payload)}`, undefined, { key })).body
  const secretEvent = { email: "ada@example.com", password: "hidden-value" }
  const line = { level: "info", text: 'came {"email":"ada@example.com","password":"[redacted]"}' }

  it("stand in the event's record, without secrets, and not for guests", async () => {
    expect((await logged(secretEvent)).logs).to.deep.equal([line])
    const nested = (await logged({ password: { first: "hidden-value", second: "hidden-value" }, long: "x".repeat(600) })).logs[0]?.text
    expect(nested)
      .to.match(/^came \{"password":"\[redacted\]","long":"x+…$/)
      .and.have.length(501)
    const { body: guest } = await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "guest", role: "guest" })
    expect((await logged(secretEvent, guest.secret)).logs).to.deep.equal([])
  })

  it("are there where the transform failed, and in the event's report", async () => {
    const failed = await logged({ fail: true })
    expect([failed.cause, failed.logs]).to.deep.equal(["transform_threw", [{ level: "info", text: 'came {"fail":true}' }]])
    const { report } = await host.invoke<{ report: string }>("events.get_report", { id: await sendEvent(secretEvent) })
    expect(report).to.contain(`## Log\n\n\`\`\`\ninfo: ${line.text}\n\`\`\``)
  })

  it("are told by a dry run", async () => {
    const { body } = await host.api<Logged>("POST", `${path}/test`, { payload: secretEvent })
    expect(body.logs).to.deep.equal([line])
    const failed = await host.api<{ details: Logged }>("POST", `${path}/test`, { payload: { fail: true } })
    expect([failed.status, failed.body.details.logs]).to.deep.equal([400, [{ level: "info", text: 'came {"fail":true}' }]])
  })
})
