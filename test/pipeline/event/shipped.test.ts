// The shipped pipelines with real payloads of their providers, signed by the providers' own libraries or by their documentation.
import { createHmac } from "node:crypto"
import { createRequire } from "node:module"
import { sign as signForGithub } from "@octokit/webhooks-methods"
import { expect } from "chai"
import Stripe from "stripe"
import { type TestHost, testHost } from "#core/testing"
import { answered, Bench, type Made, post } from "../bench.ts"

interface Example {
  readonly name: string
  readonly examples: readonly object[]
}

const examples = createRequire(import.meta.url)("@octokit/webhooks-examples") as readonly Example[] | { default: readonly Example[] }

const secrets = {
  GITHUB_WEBHOOK_SECRET: "github-SECRET-1a2b",
  STRIPE_WEBHOOK_SECRET: "whsec_stripeSECRET3c4d",
  META_APP_SECRET: "0123456789abcdef0123456789abcdef",
  SLACK_SIGNING_SECRET: "8f742231b10e8888abcd99yyyzzz85a5",
}

describe("the pipelines that ship", () => {
  let host: TestHost
  let bench: Bench
  const urls: Record<string, string> = {}
  const before_ = new Map(Object.keys(secrets).map((name) => [name, process.env[name]]))
  before(async () => {
    Object.assign(process.env, secrets)
    host = await testHost({ shippedPipelines: true })
    bench = new Bench(host)
    const { body } = await host.api<{ event_pipelines: Made[] }>("GET", "/v1/event-pipelines")
    for (const pipeline of body.event_pipelines) urls[pipeline.slug] = pipeline.inbound_url
    expect(body.event_pipelines.map(({ slug, state }) => `${slug} ${state}`).sort()).to.deep.equal(
      ["github-stars", "slack-command", "stripe-payments", "typeform-lead", "website-lead", "whatsapp-inbox"].map(
        (slug) => `${slug} active`,
      ),
    )
    expect(JSON.stringify(body)).not.to.match(/SECRET|8f742231b10e/)
  })
  after(async () => {
    for (const [name, value] of before_) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    await host.stop()
  })

  const url = (slug: string) => urls[slug] ?? ""

  it("github-stars accepts every event that GitHub sends, and keeps the stars", async () => {
    const all = "default" in examples ? examples.default : examples
    let sentCount = 0
    let pings = 0
    const refused: string[] = []
    const stars = new Map<string, boolean>()
    for (const { name, examples: payloads } of all) {
      await Promise.all(
        payloads.map(async (payload, index) => {
          const body = JSON.stringify(payload)
          const headers = {
            "x-github-event": name,
            "x-github-delivery": `${name}-${index}`,
            "x-hub-signature-256": await signForGithub(secrets.GITHUB_WEBHOOK_SECRET, body),
          }
          sentCount++
          const answer = await post(url("github-stars"), body, headers)
          // A ping is GitHub's first request for a new webhook. It is answered as a handshake.
          if (name === "ping") pings++
          if (answer.status !== 200) refused.push(`${name} ${index}: ${answer.status} ${answer.text}`)
        }),
      )
      if (name !== "star") continue
      for (const payload of payloads as { action: string; sender: { login: string } }[])
        stars.set(payload.sender.login, payload.action === "created")
    }
    expect(refused).to.deep.equal([])
    expect(sentCount).to.be.greaterThan(300)
    expect((await bench.books()).entries).to.equal(sentCount - pings)
    expect(stars.size).to.be.greaterThan(0)
    expect((await bench.rows("github-stars")).map(({ values }) => values["login"])).to.have.members([...stars.keys()])
  })

  it("github-stars answers a redelivery as it was, and refuses another's signature", async () => {
    const body = JSON.stringify({
      action: "created",
      sender: { login: "ada" },
      repository: { full_name: "a/b" },
      starred_at: "2026-01-01T00:00:00Z",
    })
    const headers = {
      "x-github-event": "star",
      "x-github-delivery": "again",
      "x-hub-signature-256": await signForGithub(secrets.GITHUB_WEBHOOK_SECRET, body),
    }
    const first = await post(url("github-stars"), body, headers)
    const second = await post(url("github-stars"), body, headers)
    expect([second.status, second.text]).to.deep.equal([200, first.text])
    const forged = { ...headers, "x-hub-signature-256": await signForGithub("another", body) }
    expect((await post(url("github-stars"), body, forged)).status).to.equal(401)
    const entries = await bench.entries("github-stars", "?limit=3")
    expect(entries.map(({ status, repeat_of }) => [status, repeat_of])).to.deep.equal([
      ["rejected", null],
      ["accepted", first.body.execution_id],
      ["accepted", null],
    ])
  })

  it("stripe-payments keeps the newest state of a payment, from the header that Stripe's library makes", async () => {
    const stripe = new Stripe("sk_test_unused")
    const send = async (id: string, type: string, status: string, secret = secrets.STRIPE_WEBHOOK_SECRET) => {
      const object = {
        id: "pi_1",
        object: "payment_intent",
        status,
        amount: 1250,
        currency: "eur",
        customer: null,
        receipt_email: "a@b.test",
      }
      const payload = JSON.stringify({ id, object: "event", type, data: { object } })
      return post(url("stripe-payments"), payload, { "stripe-signature": stripe.webhooks.generateTestHeaderString({ payload, secret }) })
    }
    expect((await send("evt_1", "payment_intent.created", "requires_action")).status).to.equal(200)
    expect((await send("evt_2", "payment_intent.succeeded", "succeeded")).status).to.equal(200)
    expect((await send("evt_2", "payment_intent.succeeded", "succeeded")).status).to.equal(200)
    expect((await send("evt_3", "charge.succeeded", "succeeded")).status).to.equal(200)
    expect((await send("evt_4", "payment_intent.canceled", "canceled", "whsec_other")).status).to.equal(401)
    const rows = await bench.rows("payments")
    expect(rows.map(({ values }) => [values["payment"], values["status"], values["amount"]])).to.deep.equal([["pi_1", "succeeded", 12.5]])
    expect((await bench.entries("stripe-payments", "?status=accepted")).filter(({ repeat_of }) => repeat_of)).to.have.length(1)
  })

  it("typeform-lead takes what Typeform signs with the secret that rotate-secret shows", async () => {
    const { body } = await host.api<{ secret: string }>("POST", "/v1/event-pipelines/typeform-lead/rotate-secret")
    const payload = JSON.stringify({
      event_id: "01H",
      event_type: "form_response",
      form_response: {
        form_id: "lT4Z3j",
        answers: [
          { type: "text", text: "Grace", field: { id: "a", type: "short_text" } },
          { type: "email", email: " Grace@Example.com", field: { id: "b", type: "email" } },
        ],
      },
    })
    const signature = `sha256=${createHmac("sha256", body.secret).update(payload).digest("base64")}`
    const answer = await post(url("typeform-lead"), payload, { "typeform-signature": signature })
    expect(answer.status, answer.text).to.equal(200)
    const row = (await bench.rows("leads")).find(({ values }) => values["email"] === "grace@example.com")
    expect(row?.values).to.include({ name: "Grace", form: "lT4Z3j" })
    const changed = await post(url("typeform-lead"), payload.replace("Grace@", "Eve@"), { "typeform-signature": signature })
    expect(changed.status).to.equal(401)
  })

  it("whatsapp-inbox answers Meta's challenge, also while proposed, and keeps messages", async () => {
    const ask = (token: string) => fetch(`${url("whatsapp-inbox")}?hub.mode=subscribe&hub.verify_token=${token}&hub.challenge=1158201444`)
    expect(await answered(await ask("change-me"))).to.include({ status: 200, text: "1158201444" })
    const wrong = await answered(await ask("guess"))
    expect(wrong.status).not.to.equal(200)
    expect(wrong.text).not.to.include("1158201444")
    expect(wrong.headers.get("x-request-id")).to.match(/^[0-9a-f-]{36}$/)

    const path = "/v1/event-pipelines/whatsapp-inbox"
    expect((await host.api("PUT", path, { state: "proposed" })).status).to.equal(200)
    expect(await answered(await ask("change-me"))).to.include({ status: 200, text: "1158201444" })
    const payload = JSON.stringify({
      object: "whatsapp_business_account",
      entry: [
        {
          id: "1",
          changes: [
            {
              field: "messages",
              value: {
                contacts: [{ wa_id: "4912345", profile: { name: "Ada" } }],
                messages: [{ from: "4912345", id: "wamid.1", timestamp: "1767225600", type: "text", text: { body: "Hello" } }],
              },
            },
          ],
        },
      ],
    })
    const headers = { "x-hub-signature-256": `sha256=${createHmac("sha256", secrets.META_APP_SECRET).update(payload).digest("hex")}` }
    expect((await post(url("whatsapp-inbox"), payload, headers)).status).to.equal(404)
    expect((await host.api("PUT", path, { state: "active" })).status).to.equal(200)
    expect((await post(url("whatsapp-inbox"), payload, headers)).status).to.equal(200)
    expect((await bench.rows("whatsapp-messages"))[0]?.values).to.include({
      message_id: "wamid.1",
      from: "4912345",
      name: "Ada",
      text: "Hello",
      sent_at: "2026-01-01T00:00:00.000Z",
    })
    await host.api("PUT", path, { state: "disabled" })
    expect((await ask("change-me")).status).to.equal(404)
  })

  it("slack-command files the request of a command and answers in the channel", async () => {
    const body = new URLSearchParams({
      token: "old",
      command: "/ask",
      text: " more coffee ",
      user_id: "U1",
      user_name: "ada",
      trigger_id: "13345224609.1",
    }).toString()
    const send = (at: number) => {
      const signature = `v0=${createHmac("sha256", secrets.SLACK_SIGNING_SECRET).update(`v0:${at}:${body}`).digest("hex")}`
      const headers = {
        "content-type": "application/x-www-form-urlencoded",
        "x-slack-signature": signature,
        "x-slack-request-timestamp": String(at),
      }
      return post(url("slack-command"), body, headers)
    }
    const now = Math.floor(Date.now() / 1_000)
    const answer = await send(now)
    expect([answer.status, answer.body]).to.deep.equal([200, { response_type: "in_channel", text: "Thanks ada, noted: more coffee" }])
    expect((await bench.rows("slack-requests"))[0]?.values).to.include({ request: "13345224609.1", text: "more coffee" })
    expect((await send(now - 3_600)).status).to.equal(401)
    expect(await bench.rows("slack-requests")).to.have.length(1)
  })

  it("leaves no secret in the journal", async () => {
    for (const slug of Object.keys(urls)) {
      for (const { id } of await bench.entries(slug, "?limit=5")) {
        const text = JSON.stringify(await bench.entry(slug, id))
        for (const secret of Object.values(secrets)) expect(text).not.to.include(secret)
      }
    }
  })
})
