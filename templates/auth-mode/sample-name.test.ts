// The auth mode sample_name: who is let in, who is not, and what the journal says of it.
import { createHmac } from "node:crypto"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import plugin from "./index.ts"

describe("the auth mode sample_name", () => {
  let host: TestHost
  let pipeline: { inbound_url: string; secret: string }
  before(async () => {
    host = await testHost({ plugins: [plugin] })
    const made = await host.api<typeof pipeline>("POST", "/v1/event-pipelines", {
      name: "Signed",
      state: "active",
      source_kind: "third_party_webhook",
      auth_mode: "sample_name",
      pipeline: [{ type: "respond", body: { ok: true } }],
    })
    expect(made.status, JSON.stringify(made.body)).to.equal(200)
    pipeline = made.body
  })
  after(() => host.stop())

  const body = '{"email":"ada@example.com"}'
  const sign = (text: string, secret = pipeline.secret) => createHmac("sha256", secret).update(text).digest("hex")
  const send = (text: string, headers: Record<string, string>) => host.send(pipeline, text, { headers })

  it("lets in what is signed with the secret", async () => {
    expect((await send(body, { "x-sample-name": sign(body) })).status).to.equal(200)
  })

  it("refuses another secret, another body and no signature at all", async () => {
    expect((await send(body, { "x-sample-name": sign(body, "guess") })).status).to.equal(401)
    expect((await send(`${body} `, { "x-sample-name": sign(body) })).status).to.equal(401)
    expect((await send(body, {})).status).to.equal(401)
  })

  it("says why in the journal, and never the secret", async () => {
    const { body: journal } = await host.api("GET", "/v1/event-pipelines/signed/executions?status=rejected")
    const text = JSON.stringify(journal)
    expect(text).to.include("wrong_secret").and.include("missing_header")
    expect(text).to.not.include(pipeline.secret)
  })

  it("ends the old secret when it is rotated", async () => {
    const old = sign(body)
    const { body: rotated } = await host.api<{ secret: string }>("POST", "/v1/event-pipelines/signed/rotate-secret", {})
    expect((await send(body, { "x-sample-name": old })).status).to.equal(401)
    expect((await send(body, { "x-sample-name": sign(body, rotated.secret) })).status).to.equal(200)
  })
})
