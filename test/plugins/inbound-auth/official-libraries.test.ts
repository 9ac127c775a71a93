// The providers' own libraries sign or verify; our verifiers must agree.

import { sign } from "@octokit/webhooks-methods"
import { isValidSlackRequest } from "@slack/bolt/dist/receivers/verify-request.js"
import { expect } from "chai"
import fc from "fast-check"
import { Webhook } from "standardwebhooks"
import { Stripe } from "stripe"
import twilio from "twilio"
import { causeOf, endpoint, form, inbound, now, providerOf } from "./requests.ts"
import { senders } from "./senders.ts"

const bodies = fc.json()
const at_s = Math.floor(now / 1_000)

describe("official libraries", () => {
  it("stripe: what it signs for tests verifies, with one key and with two", () =>
    fc.assert(
      fc.asyncProperty(bodies, async (payload) => {
        const stripe = new Stripe("sk_test_none")
        const [old, current] = ["whsec_old", "whsec_current"]
        const header = stripe.webhooks.generateTestHeaderString({ payload, secret: current, timestamp: at_s })
        const rolled = `${header},${stripe.webhooks.generateTestHeaderString({ payload, secret: old, timestamp: at_s }).split(",")[1]}`
        const judge = async (signature: string, ...secrets: string[]) =>
          providerOf("stripe", { secrets }).verify(inbound({ body: payload, headers: { "Stripe-Signature": signature } }))
        expect(await judge(header, old, current)).to.deep.include({ ok: true, secretId: "secret-2" })
        expect(await judge(rolled, old)).to.deep.include({ ok: true, secretId: "secret-1" })
        expect(causeOf(await judge(header, old))).to.equal("wrong_secret")
        expect(causeOf(await judge(header, "Y3VycmVudA=="))).to.equal("wrong_secret")
      }),
      { numRuns: 20 },
    ))

  it("standardwebhooks: what it signs verifies", () =>
    fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        const signature = new Webhook(secret).sign("msg_1", new Date(at_s * 1_000), body)
        const headers = { "webhook-id": "msg_1", "webhook-timestamp": String(at_s), "webhook-signature": `v1a,bm9uZQ== ${signature}` }
        expect(await providerOf("standard_webhooks", { secrets: [secret] }).verify(inbound({ body, headers }))).to.deep.include({
          ok: true,
          eventId: "msg_1",
        })
        expect(
          causeOf(await providerOf("standard_webhooks", { secrets: [secret] }).verify(inbound({ body: `${body} `, headers }))),
        ).to.equal("body_modified")
      }),
      { numRuns: 20 },
    ))

  it("octokit: what it signs verifies", () =>
    fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const headers = { "x-hub-signature-256": await sign("key", body), "x-github-delivery": "d-1", "x-github-event": "push" }
        const verdict = await providerOf("github", { secrets: ["key"] }).verify(inbound({ body, headers }))
        expect(verdict).to.deep.include({ ok: true, eventId: "d-1", eventType: "push", proof: { headers: ["x-hub-signature-256"] } })
      }),
      { numRuns: 20 },
    ))

  it("twilio: what it signs verifies, for any fields, port and query", () => {
    const urls = [endpoint, `${endpoint}?a=1&b=it's%20%C3%BC`, "https://hooks.example.test:8443/x?y=1", "https://hooks.example.test:443/x"]
    const fields = fc.dictionary(
      fc.string({ minLength: 1, maxLength: 8 }).filter((name) => name !== "__proto__"),
      fc.string({ maxLength: 12 }),
      { maxKeys: 8 },
    )
    return fc.assert(
      fc.asyncProperty(fc.constantFrom(...urls), fields, async (url, params) => {
        const body = form(Object.entries(params))
        const headers = {
          "content-type": "application/x-www-form-urlencoded",
          "x-twilio-signature": twilio.getExpectedTwilioSignature("token", url, params),
        }
        expect(await providerOf("twilio", { secrets: ["token"] }).verify(inbound({ url, body, headers }))).to.include({ ok: true })
        expect(causeOf(await providerOf("twilio", { secrets: ["token"] }).verify(inbound({ url, body: `${body}&x=y`, headers })))).to.equal(
          "wrong_secret",
        )
      }),
      { numRuns: 40 },
    )
  })

  it("twilio: a JSON body needs its hash in the signed URL", async () => {
    const body = '{"a":1}'
    const verify = (url: string, provider: string, payload = body) =>
      providerOf(provider, { secrets: ["token"] }).verify(
        inbound({
          url,
          body: payload,
          headers: { "content-type": "application/json", "x-twilio-signature": twilio.getExpectedTwilioSignature("token", url, {}) },
        }),
      )
    const hashed = `${endpoint}?bodySHA256=${twilio.getExpectedBodyHash(body)}`
    for (const provider of ["twilio", "twilio_json"]) {
      expect(causeOf(await verify(hashed, provider))).to.equal("ok")
      expect(causeOf(await verify(hashed, provider, '{"a":2}'))).to.equal("body_modified")
      expect(causeOf(await verify(endpoint, provider))).to.equal("body_not_covered")
    }
  })

  it("slack: its verifier and ours agree on right and wrong", async () => {
    const sender = senders.find(({ provider }) => provider === "slack")
    if (!sender) throw new Error("no sender for slack")
    for (const [secret, body, shift] of [
      [sender.secret, '{"a":1}', 0],
      ["another", '{"a":1}', 0],
      [sender.secret, '{"a":2}', 0],
      [sender.secret, '{"a":1}', 400_000],
    ] as const) {
      const { headers } = sender.send('{"a":1}', now)
      const theirs = isValidSlackRequest({
        signingSecret: secret,
        body,
        headers: {
          "x-slack-signature": headers["x-slack-signature"] ?? "",
          "x-slack-request-timestamp": Number(headers["x-slack-request-timestamp"]),
        },
        nowMilliseconds: now + shift,
      })
      const ours = await providerOf("slack", { secrets: [secret] }).verify(inbound({ body, headers, receivedAt: now + shift }))
      expect(ours.ok).to.equal(theirs)
    }
  })
})
