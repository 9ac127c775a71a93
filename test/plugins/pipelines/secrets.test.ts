// Verification secrets: shown once, stored sealed, and ended by a rotation at once or after the requested overlap, also under
// load. Never stored in plain text.
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { type IncomingMessage, request } from "node:http"
import { join } from "node:path"
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { Bench, post } from "../../pipeline/bench.ts"
import { onStoresInTurn } from "../../pipeline/stores.ts"
import { ShiftedClock } from "../../shifted-clock.ts"
import { until } from "../../waiting.ts"

const chosen = "chosen-SECRET-91c2"

onStoresInTurn("verification secrets", ({ start }) => {
  const clock = new ShiftedClock()
  const secrets: string[] = [chosen]
  let host: TestHost
  let bench: Bench
  before(async () => {
    host = await start({ clock })
    bench = new Bench(host)
  })
  const send = (url: string, secret: string, body = '{"n":1}') =>
    post(url, body, { "x-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}` })
  const rotate = async (slug: string, body: object = {}, headers = {}) => {
    const answer = await host.api<{
      secret?: string
      revision: number
      code?: string
      details?: { reason?: string; fields?: { path: string }[] }
    }>("POST", `/v1/event-pipelines/${slug}/rotate-secret`, body, { headers })
    if (answer.body.secret) secrets.push(answer.body.secret)
    return answer
  }

  it("hide a provider's verify token on reads as well, and take it back as it was shown", async () => {
    const auth_config = { provider: "meta_whatsapp", verify_token: "VERIFY-token-77", secret: chosen }
    await bench.make({ name: "Meta", auth_mode: "provider_signature", auth_config })
    const { body } = await host.api("GET", "/v1/event-pipelines/meta")
    expect(body["auth_config"]).to.deep.equal({ provider: "meta_whatsapp", verify_token: "[redacted]", secret: "[redacted]" })
    const again = await host.api("PUT", "/v1/event-pipelines/meta", { name: "Meta", auth_config: body["auth_config"] })
    expect(again.status).to.equal(200)
    const other = await host.api("PUT", "/v1/event-pipelines/meta", {
      auth_config: { provider: "meta_whatsapp", verify_token: "another-token" },
    })
    expect(other.status).to.equal(400)
  })

  it("are ended at once by rotation", async () => {
    const pipeline = await bench.make({ name: "Rotated", auth_mode: "hmac_sha256", auth_config: { secret: chosen } })
    expect(pipeline.secret).to.equal(chosen)
    expect((await send(pipeline.inbound_url, chosen)).status).to.equal(200)
    const { status, body } = await rotate("rotated")
    expect([status, body.revision]).to.deep.equal([200, 2])
    expect(body.secret).to.match(/^whsec_/)
    expect((await send(pipeline.inbound_url, chosen)).status).to.equal(401)
    expect((await send(pipeline.inbound_url, body.secret ?? "")).status).to.equal(200)
    expect((await host.api("GET", "/v1/event-pipelines/rotated")).body["auth_config"]).to.deep.equal({ secret: "[redacted]" })
    const entry = await bench.newest("rotated")
    expect(entry.verdict.secret_id).to.be.a("string")
    expect((await bench.entries("rotated", "?status=rejected"))[0]?.cause).to.equal("wrong_secret")
  })

  it("are ended at once under load: nothing that the old one signed is accepted after the answer", async () => {
    const pipeline = await bench.make({
      name: "Loaded",
      auth_mode: "hmac_sha256",
      pipeline: [{ type: "dataset.write", dataset_slug: "loaded" }],
    })
    let old = pipeline.secret ?? ""
    for (let round = 0; round < 3; round++) {
      let ended = false
      const late: number[] = []
      let accepted = 0
      const senders = Array.from({ length: 8 }, async () => {
        for (;;) {
          const sentAfter = ended
          const { status } = await send(pipeline.inbound_url, old)
          if (status === 200) accepted++
          if (sentAfter) {
            late.push(status)
            return
          }
        }
      })
      await until("20 events under the secret that ends", () => accepted >= 20, { everyMs: 2 })
      const { body } = await rotate("loaded")
      ended = true
      const committed = (await bench.books()).rows
      await Promise.all(senders)
      expect(late).to.deep.equal(late.map(() => 401))
      expect((await bench.books()).rows).to.equal(committed)
      old = body.secret ?? ""
      secrets.push(old)
    }
  })

  it("are ended for a body that was still on its way", async () => {
    const pipeline = await bench.make({ name: "Slow body", auth_mode: "shared_secret_header", auth_config: { secret: chosen } })
    await post(pipeline.inbound_url, {}, { "x-webhook-secret": chosen })
    // The 100-continue proves that its head has been handled.
    const headers = { "content-type": "application/json", "x-webhook-secret": chosen, expect: "100-continue" }
    const slow = request(pipeline.inbound_url, { method: "POST", headers })
    slow.flushHeaders()
    await once(slow, "continue")
    slow.write('{"n":')
    await rotate("slow-body")
    slow.end("1}")
    const [answer] = (await once(slow, "response")) as [IncomingMessage]
    answer.resume()
    expect(answer.statusCode).to.equal(401)
    expect(await bench.entries("slow-body", "?status=accepted")).to.have.length(1)
  })

  it("overlap when that was asked for, and no longer", async () => {
    const pipeline = await bench.make({ name: "Overlapping", auth_mode: "hmac_sha256", auth_config: { secret: chosen } })
    const { body } = await rotate("overlapping", { overlap: "1h" })
    const fresh = body.secret ?? ""
    expect([(await send(pipeline.inbound_url, chosen)).status, (await send(pipeline.inbound_url, fresh)).status]).to.deep.equal([200, 200])
    clock.step(3_000_000)
    expect((await send(pipeline.inbound_url, chosen)).status).to.equal(200)
    clock.step(600_000)
    expect([(await send(pipeline.inbound_url, chosen)).status, (await send(pipeline.inbound_url, fresh)).status]).to.deep.equal([401, 200])
    const again = await rotate("overlapping", { overlap: "24h" })
    await rotate("overlapping")
    expect((await send(pipeline.inbound_url, again.body.secret ?? "")).status).to.equal(401)
  })

  it("are refused where the mode carries none", async () => {
    for (const [slug, auth_mode] of [
      ["mode-none", "none"],
      ["mode-viewer", "authenticated_viewer"],
    ]) {
      await bench.make({ name: slug, auth_mode })
      const { status, body } = await rotate(slug ?? "")
      expect([status, body.code, body.details?.reason]).to.deep.equal([400, "failed_precondition", "no_secret"])
      const rotation = await bench.save({ name: `${slug} two`, auth_mode, auth_config: { secret: "x" } })
      expect(rotation.status).to.equal(400)
    }
  })

  it("are taken, not made, where the provider issues them", async () => {
    const pipeline = await bench.make({ name: "Stripe", auth_mode: "provider_signature", auth_config: { provider: "stripe" } })
    const makerOf = async (slug: string) => (await host.invoke("event_pipelines.list_secrets", { slug }))["made_by"]
    expect(await makerOf(pipeline.slug)).to.equal("sender")
    expect(await makerOf((await bench.make({ name: "By us", auth_mode: "hmac_sha256" })).slug)).to.equal("service")
    expect(await makerOf((await bench.make({ name: "Open", auth_mode: "none" })).slug)).to.equal(null)
    expect(pipeline).not.to.have.property("secret")
    expect(pipeline.warnings.join()).to.include("missing-secret")
    const none = await rotate("stripe")
    expect([none.status, none.body.details?.fields?.[0]?.path]).to.deep.equal([400, "secret"])
    const response = await rotate("stripe", { secret: "whsec_given5555SECRET" })
    expect([response.status, response.body.secret]).to.deep.equal([200, "whsec_given5555SECRET"])
  })

  it("are shown once: the repeat of an idempotent rotation holds none", async () => {
    await bench.make({ name: "Idempotent", auth_mode: "hmac_sha256" })
    const headers = { "idempotency-key": "rotate-once" }
    const first = await rotate("idempotent", {}, headers)
    const again = await rotate("idempotent", {}, headers)
    expect(first.body.secret).to.be.a("string")
    expect(again.body).not.to.have.property("secret")
    expect(JSON.stringify(again.body)).to.include("secret_shown_once")
    expect((await host.api("GET", "/v1/event-pipelines/idempotent")).body["revision"]).to.equal(2)
  })

  it("are in clear nowhere: not in the data folder, the logs, the journal or a list", async () => {
    const pipeline = await bench.make({
      name: "Searched",
      auth_mode: "shared_secret_header",
      auth_config: { secret: chosen, header: "X-Proof" },
      dedupe: { key: "{{ headers['x-proof'] }}{{ payload.n }}" },
      transform_js: "function transform(event, context) { return { seen: Object.keys(context.headers).join(), n: event.n } }",
      pipeline: [
        { type: "dataset.write", dataset_slug: "searched" },
        { type: "email.send", to: "a@b.test", heading: "{{ event.seen }}" },
      ],
    })
    await post(
      pipeline.inbound_url,
      { n: 1, password: "pass-SECRET-3" },
      { "x-proof": chosen, authorization: "Bearer bearer-SECRET-4", cookie: "session=cookie-SECRET-5" },
    )
    await post(pipeline.inbound_url, { n: 2 }, { "x-proof": "wrong-SECRET-6" })
    await post(pipeline.inbound_url, "{", { "x-proof": chosen })
    await post(pipeline.inbound_url, "<a/>", { "x-proof": chosen, "content-type": "text/xml" })
    await post(pipeline.inbound_url, "x".repeat(1_100_000), { "x-proof": chosen }).catch(() => undefined)
    expect((await bench.rows("searched"))[0]?.values["seen"])
      .to.be.a("string")
      .and.not.to.include("x-proof")
    const entries = await Promise.all((await bench.entries("searched")).map(({ id }) => bench.entry("searched", id)))
    expect(entries.length).to.be.greaterThan(3)
    const response = await host.api("GET", "/v1/event-pipelines?limit=100")
    const answers = JSON.stringify([entries, response.body])
    // Until then the mail's file may be renamed.
    await until(async () => (await bench.jobs()).length === 0)
    const folder = filesUnder(host.dataDir).filter((file) => !file.endsWith("bootstrap.json"))
    expect(folder.length).to.be.greaterThan(0)
    const places = [answers, ...host.logged, ...folder.map((file) => readFileSync(file, "latin1"))].join("\n")
    for (const secret of [...secrets, "wrong-SECRET-6", "bearer-SECRET-4", "cookie-SECRET-5"])
      expect(places.includes(secret), secret).to.equal(false)
    expect(answers).not.to.include("pass-SECRET-3")
  })
})

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => join(folder, file))
    .filter((path) => statSync(path).isFile())
}
