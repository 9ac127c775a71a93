// Deferred actions in a whole service. An event over HTTP leads to a call, a mail and an event for another pipeline. Its secret
// never appears in plain text.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { type Json, Store, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { Channels } from "../../../core/contract/channel.ts"
import { Organizations } from "../../../plugins/platform/organizations/index.ts"
import { until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { listen, type Peer } from "../outgoing-http/loopback-peer.ts"

const secret = "whole-service-SECRET-5f1c"

describe("actions in a whole service", () => {
  let peer: Peer
  let host: TestHost
  before(async () => {
    peer = await listen((_asked, response) => response.setHeader("content-type", "application/json").end('{"id":"c-9"}'))
    host = await testHost({ capture: false, env: { MILLRACE_OUTGOING_ALLOW_HOSTS: `127.0.0.1:${peer.port}` } })
  })
  after(async () => {
    await host.stop()
    await peer.close()
  })

  it("calls, mails and passes on after the reply, and leaves no secret in clear", async () => {
    const credentials = { base_url: `${peer.origin}/v2`, headers: { "X-Api-Key": secret } }
    const input = { app: "http", name: "CRM", share_with_org: true, credentials }
    const headers = { "Idempotency-Key": "connect-1" }
    const first = await host.api("POST", "/v1/integrations-connect", input, { headers })
    const again = await host.api("POST", "/v1/integrations-connect", input, { headers })
    expect(first.status).to.equal(200)
    expect(again.body).to.deep.equal(first.body)
    const response = await host.api<{ integrations: unknown[] }>("GET", "/v1/integrations")
    expect(response.body.integrations).to.have.length(1)

    await make({
      name: "Second",
      source_kind: "internal",
      auth_mode: "none",
      pipeline: [{ type: "http.request", url: `${peer.origin}/second` }],
    })
    const { inbound_url } = await make({
      name: "First",
      auth_mode: "none",
      pipeline: [
        { id: "crm", type: "integration.call", integration: "crm", path: "/contacts", body: { email: "{{ event.email }}" } },
        { type: "email.send", to: "sales@acme.test", heading: "Contact {{ steps.crm.body.id }}" },
        { type: "pipeline.send", pipeline: "second" },
        { type: "live.broadcast", channel: "leads" },
        { type: "respond", status: 202, body: { thanks: true } },
      ],
    })
    const answer = await fetch(inbound_url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"email":"ada@example.com"}',
    })
    expect([answer.status, await answer.json()]).to.deep.equal([202, { thanks: true }])

    const outbox = join(host.dataDir, "outbox")
    await until(() => peer.asked.length === 2 && existsSync(outbox) && readdirSync(outbox).some((file) => file.endsWith(".eml")))
    const request = Object.fromEntries(peer.asked.map((call) => [call.url, call]))
    expect(Object.keys(request).sort()).to.deep.equal(["/second", "/v2/contacts"])
    expect(request["/v2/contacts"]?.headers["x-api-key"]).to.equal(secret)
    expect(request["/second"]?.headers).not.to.have.property("x-api-key")
    const mail = readFileSync(join(outbox, readdirSync(outbox)[0] ?? ""), "utf8")
    expect(mail).to.match(/^Subject: Contact c-9\r$/m)

    const places = [...filesUnder(host.dataDir).map((file) => readFileSync(file, "latin1")), ...host.logged]
    expect(places.join("\n")).to.include("Contact c-9").and.not.to.include(secret)
    const executions = await host.api("GET", "/v1/event-pipelines/first/executions")
    expect(JSON.stringify([response.body, first.body, executions.body])).not.to.include(secret)
  })

  it("keeps what strangers sent in a sandbox, also for a pipeline that was saved with a policy of its own", async () => {
    const pipeline = [{ type: "respond", headers: { "Content-Type": "text/html" }, body: "<script>{{ event.name }}</script>" }]
    const document = { name: "Echo", auth_mode: "none", state: "active", pipeline }
    const policy = { "Content-Security-Policy": "default-src * 'unsafe-inline'" }
    const headers = { ...pipeline[0]?.headers, ...policy }
    const refused = await host.api<{ message: string }>("POST", "/v1/event-pipelines", {
      ...document,
      pipeline: [{ ...pipeline[0], headers }],
    })
    expect([refused.status, refused.body.message]).to.satisfy(
      ([status, message]: [number, string]) => status === 400 && /senders' content from running/.test(message),
    )
    const { id, inbound_url } = await make(document)
    const organization = (await host.get(Organizations).first()).id
    const stored = await host.get(Store).open(collectionNamed<{ document: object }>(host, "event_pipelines"), organization).get(id)
    // The document as saved before the header was refused.
    await host.get(UnitsOfWork).run((work) => {
      const $set = { document: { ...stored?.document, pipeline: [{ ...pipeline[0], headers }] } as unknown as Json }
      work.in(collectionNamed<{ document: object }>(host, "event_pipelines"), organization).update(id, { $set })
    })
    const answer = await fetch(inbound_url, { method: "POST", headers: { "content-type": "application/json" }, body: '{"name":"x"}' })
    expect([answer.status, await answer.text()]).to.deep.equal([200, "<script>x</script>"])
    expect(answer.headers.get("content-security-policy")).to.match(/^sandbox; default-src 'none';/)
  })

  it("broadcasts to none of the channels that the loaded plugins declare, named by the document or by an event", async () => {
    const names = host.runtime.registry.items(Channels).map(({ name }) => name.replace("*", "x"))
    expect(names).to.include.members(["heartbeats", "sending_domains", "voice", "workstreams:x"])
    const document = { name: "Loud", auth_mode: "none", pipeline: [{ type: "live.broadcast", channel: "" }] }
    for (const channel of names.flatMap((name) => [name, `${name}:more`, `${name.split(":")[0]}:{{ event.more }}`])) {
      const byName = { ...document, pipeline: [{ type: "live.broadcast", channel }] }
      const { body } = await host.api<{ problems: { rule: string }[] }>("POST", "/v1/event-pipelines/validate", { document: byName })
      expect(JSON.stringify(body), channel).to.include("reserved-channel")
    }
    const { inbound_url } = await make({ ...document, pipeline: [{ type: "live.broadcast", channel: "{{ event.channel }}" }] })
    for (const channel of names) {
      const headers = { "content-type": "application/json" }
      const answer = await fetch(inbound_url, { method: "POST", headers, body: JSON.stringify({ channel }) })
      expect([answer.status, await answer.text()].join(" "), channel).to.match(/^400 .*event_refused/)
    }
  })

  async function make(document: object): Promise<{ id: string; inbound_url: string }> {
    const { status, body } = await host.api<{ id: string; inbound_url: string }>("POST", "/v1/event-pipelines", {
      state: "active",
      ...document,
    })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }
})

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => join(folder, file))
    .filter((path) => statSync(path).isFile())
}
