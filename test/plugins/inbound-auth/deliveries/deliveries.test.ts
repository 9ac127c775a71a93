// Each provider of the table delivers an event over HTTP in its vendor's documented form, with a valid proof.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { providerFacts } from "../../../../plugins/inbound-auth/index.ts"
import { fromAToF } from "./a-to-f.ts"
import type { Delivered } from "./delivery.ts"
import { fromGToO } from "./g-to-o.ts"
import { fromPToS } from "./p-to-s.ts"
import { certificate, keyConfigOf, proven, secretOf } from "./prove.ts"
import { fromTToZ } from "./t-to-z.ts"

const deliveries = [...fromAToF, ...fromGToO, ...fromPToS, ...fromTToZ]

describe("deliveries of providers", () => {
  let host: TestHost
  let count = 0
  before(async () => {
    host = await testHost()
    host.outgoing.fixtures.push(() => ({ status: 200, headers: {}, body: certificate }))
  })
  after(() => host.stop())

  it("are known of every provider of the table", () => {
    expect([...new Set(deliveries.map(({ provider }) => provider))].sort()).to.deep.equal(
      providerFacts()
        .map(({ provider }) => provider)
        .sort(),
    )
    for (const { source } of deliveries) expect(source).to.match(/^https:\/\//)
  })

  async function pipelineFor(delivery: Delivered, responds: boolean): Promise<{ url: string; secret: string }> {
    const secret = await secretOf(delivery)
    const { body, status } = await host.api<{ inbound_url: string }>("POST", "/v1/event-pipelines", {
      name: `${delivery.provider} ${count++}`,
      state: "active",
      source_kind: "third_party_webhook",
      auth_mode: "provider_signature",
      auth_config: {
        provider: delivery.provider,
        ...delivery.config,
        ...(await keyConfigOf(delivery)),
        ...(secret === undefined ? {} : { secret }),
      },
      pipeline: responds ? [{ type: "respond", body: { event: "{{ event }}" } }] : [{ type: "live.broadcast", channel: "seen", data: {} }],
    })
    expect(status, JSON.stringify(body)).to.equal(200)
    return { url: body.inbound_url, secret: secret ?? "" }
  }

  async function deliver(delivery: Delivered, responds: boolean): Promise<{ status: number; text: string }> {
    const { url, secret } = await pipelineFor(delivery, responds)
    const { method, url: signedUrl, headers, body } = await proven(delivery, url, secret, host.clock.now())
    const answer = await fetch(signedUrl, { method, headers, ...(method === "GET" ? {} : { body }) })
    return { status: answer.status, text: await answer.text() }
  }

  for (const [index, delivery] of deliveries.entries()) {
    it(`${delivery.provider}: the event of ${formatOf(delivery)} (${index})`, async () => {
      const { status, text } = await deliver(delivery, true)
      expect(status, text).to.equal(200)
      const { event } = JSON.parse(text) as { event: unknown }
      const plain = JSON.stringify(delivery.json ?? "")
      if (/\$(?:now|seconds|milliseconds|signature)/.test(plain)) expect(event).to.be.an("object")
      else expect(event).to.deep.equal(expected(delivery))
    })
  }

  for (const delivery of deliveries.filter(({ answer }) => answer !== undefined)) {
    it(`${delivery.provider}: the answer that the vendor expects`, async () => {
      const { status, text } = await deliver(delivery, false)
      expect([200, 204]).to.include(status)
      if (delivery.answer === "") expect(text).to.equal("")
      else expect(text).to.include(delivery.answer ?? "")
    })
  }

  it("are refused by GET from other providers, and as malformed XML", async () => {
    const github = deliveries.find(({ provider }) => provider === "github")
    const salesforce = deliveries.find(({ provider }) => provider === "salesforce")
    if (!github || !salesforce) throw new Error("a delivery is missing")
    const { url } = await pipelineFor(github, true)
    expect((await fetch(`${url}?a=1`)).status).to.equal(405)
    for (const xml of ["<a>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "no XML", `<a>${"<b>".repeat(100)}${"</b>".repeat(100)}</a>`]) {
      const { status, text } = await deliver({ ...salesforce, xml }, true)
      expect([status, text.includes("malformed_body")], text).to.deep.equal([400, true])
    }
  })
})

/** Returns the delivery's expected event, without the proof. */
function expected({ json, form, get, event, provider }: Delivered): unknown {
  if (event !== undefined) return event
  if (get) return get
  if (form) return form
  const proof: Readonly<Record<string, string>> = { aircall: "token", google_ads_lead_form: "google_key", aws_sns: "Signature" }
  const { [proof[provider] ?? ""]: _, ...rest } = json as Record<string, unknown>
  return Array.isArray(json) ? json : rest
}

function formatOf({ get, xml, form, multipart, empty }: Delivered): string {
  const formats = { GET: get, XML: xml, "a form": form, multipart, "a notice": empty }
  return Object.entries(formats).find(([, value]) => value !== undefined)?.[0] ?? "JSON"
}
