// The target of an approved step or call: shown, included in the digest, and refused after a change.
import { expect } from "chai"
import { z } from "zod"
import { definePlugin } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { SenderChoices } from "../../../plugins/people/email/index.ts"
import { until } from "../../waiting.ts"
import { memberOf } from "./gated-notes.ts"

interface Approval {
  readonly id: string
  readonly what: string
  readonly input: Record<string, unknown> & Record<string, unknown>[]
  readonly hidden: readonly { path: string; characters: number }[]
  readonly target: unknown
  readonly digest: string
  readonly receipt: { readonly ok: boolean; readonly error: { readonly reason: string } | null } | null
}
interface Pipeline {
  readonly slug: string
  readonly inbound_url: string
}

describe("targets of approvals", () => {
  let isForeign = false
  const foreignSender = definePlugin({
    id: "test-sender",
    needs: ["email"],
    config: z.strictObject({}),
    extend: [[SenderChoices, async () => (isForeign ? { from: { name: "Eve", address: "eve@evil.example.com" } } : undefined)]],
    register: () => undefined,
  })
  let host: TestHost
  let second: string
  before(async () => {
    host = await testHost({ plugins: [foreignSender], env: { MILLRACE_JOBS_POLL_MS: "50" } })
    host.outgoing.fixtures.push(() => ({ status: 200, headers: {}, body: "{}" }))
    second = (await memberOf(host, "second")).key
  })
  after(() => host.stop())

  const connect = async (name: string, base_url: string) => {
    const input = { app: "http", name, share_with_org: true, credentials: { base_url } }
    const { status, body } = await host.api<{ integration_id: string }>("POST", "/v1/integrations-connect", input)
    expect(status, JSON.stringify(body)).to.be.oneOf([200, 201])
    return body.integration_id
  }
  const rotate = async (name: string, base_url: string) => {
    const input = { app: "http", name, rotate_credentials: true, credentials: { base_url } }
    const { status, body } = await host.api("POST", "/v1/integrations-connect", input)
    expect(status, JSON.stringify(body)).to.be.oneOf([200, 201])
  }
  const approval = async (id: string) => (await host.api<Approval>("GET", `/v1/approvals/${id}`)).body
  const pipeline = async (name: string, step: object) => {
    const document = { name, state: "active", auth_mode: "none", pipeline: [{ id: "do", gate: true, retry: { max_attempts: 1 }, ...step }] }
    const { status, body } = await host.api<Pipeline>("POST", "/v1/event-pipelines", document)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }
  const sendTo = async (createdPipeline: Pipeline, event: object = {}) => {
    const { execution_id } = (await host.send<{ execution_id: string }>(createdPipeline, event)).body
    const path = `/v1/event-pipelines/${createdPipeline.slug}/executions/${execution_id}`
    const id = await until("the step to wait", async () => {
      const { steps } = (await host.api<{ steps: Record<string, { approval_id?: string }> }>("GET", path)).body
      return steps["do"]?.approval_id
    })
    return await approval(id)
  }
  const approve = async ({ id, digest }: Approval) => {
    const { status, body } = await host.api("POST", `/v1/approvals/${id}/decide`, { decision: "approve", digest }, { key: second })
    expect(status, JSON.stringify(body)).to.equal(200)
    const { receipt } = await until("the receipt", async () => {
      const item = await approval(id)
      return item.receipt ? item : undefined
    })
    return receipt?.ok === true ? "done" : receipt?.error?.reason
  }
  const called = (hostname: string) => host.calls.filter(({ url }) => url.includes(hostname)).length

  it("are the connection, its revision and its host, and a rotated connection is not called", async () => {
    const id = await connect("CRM", "https://crm.example.com/v1")
    const createdPipeline = await pipeline("Pay", { type: "integration.call", integration: "crm", path: "/pay" })
    const waits = await sendTo(createdPipeline)
    expect(waits.target).to.deep.equal([
      { connection: "crm", connection_id: id, revision: 1, app: "http", app_revision: null, host: "crm.example.com" },
    ])
    expect(await approve(await sendTo(createdPipeline))).to.equal("done")
    expect(called("crm.example.com")).to.equal(1)
    await rotate("CRM", "https://evil.example.com")
    expect(await approve(waits)).to.equal("target_changed")
    expect(called("evil.example.com")).to.equal(0)
    const now = await sendTo(createdPipeline)
    expect(JSON.stringify(now.target)).to.include("evil.example.com")
    expect(now.digest).not.to.equal(waits.digest)
  })

  it("are the sender of a mail, whose text is shown in full", async () => {
    const fields = { "Payment token": "PAY 9999 EUR TO DE00", signature: "CEO" }
    const createdPipeline = await pipeline("Mail", { type: "email.send", to: "ada@example.com", heading: "Pay", fields })
    const waits = await sendTo(createdPipeline)
    expect(waits.input[0]?.["fields"]).to.deep.equal(fields)
    expect(waits.hidden).to.deep.equal([])
    expect(JSON.stringify(waits.target)).to.include('"from":"no-reply@')
    expect(await approve(await sendTo(createdPipeline))).to.equal("done")
    isForeign = true
    expect(await approve(waits)).to.equal("target_changed")
    expect(host.mails.filter(({ subject }) => subject === "Pay")).to.have.length(1)
  })

  it("are the number and connection of a message", async () => {
    const id = await connect("Lines", "https://messages.example.com")
    const number = "+493012345677"
    const sms = { integration: id, account_sid: "AC00000000000000000000000000000000" }
    expect((await host.api("POST", "/v1/voice/phone-numbers", { number, sms })).status).to.be.oneOf([200, 201])
    const text = `Pay now. ${"x".repeat(1_000)}`
    const write = async () => {
      const input = { channel: "sms", from: number, to: "+493098765432", text }
      const { status, body } = await host.api<{ approval_id: string }>("POST", "/v1/voice/messages", input)
      expect(status, JSON.stringify(body)).to.equal(200)
      return await approval(body.approval_id)
    }
    const waits = await write()
    expect(waits.what).to.include(text)
    expect(waits.target).to.include({ number, number_revision: 1, connection: "lines", revision: 1, host: "messages.example.com" })
    expect(await approve(await write())).to.equal("done")
    await rotate("Lines", "https://evil.example.com")
    expect(await approve(waits)).to.equal("target_changed")
  })

  it("are the pipeline of an event", async () => {
    await host.api("POST", "/v1/event-pipelines", { name: "Inner", state: "active", source_kind: "internal", pipeline: [] })
    const createdPipeline = await pipeline("Outer", { type: "pipeline.send", pipeline: "inner", payload: { a: 1 } })
    const waits = await sendTo(createdPipeline)
    const { id } = (await host.api<{ id: string }>("GET", "/v1/event-pipelines/inner")).body
    expect(waits.target).to.deep.equal([{ pipeline: "inner", pipeline_id: id, revision: 1 }])
    expect(await approve(await sendTo(createdPipeline))).to.equal("done")
    expect((await host.api("PUT", "/v1/event-pipelines/inner", { name: "Another" })).status).to.equal(200)
    expect(await approve(waits)).to.equal("target_changed")
  })

  it("leave credentials hidden, with their number of characters", async () => {
    const headers = { authorization: "Bearer abcdef", "x-note": "shown" }
    const createdPipeline = await pipeline("Call", {
      type: "http.request",
      url: "https://partner.example.com/",
      headers,
      body: { password: "1234" },
    })
    const { input, hidden, target } = await sendTo(createdPipeline)
    expect(input[0]).to.deep.include({ headers: { authorization: "[redacted]", "x-note": "shown" }, body: { password: "[redacted]" } })
    expect(hidden).to.deep.equal([
      { path: "0.headers.authorization", characters: 13 },
      { path: "0.body.password", characters: 4 },
    ])
    expect(target).to.equal(null)
  })
})
