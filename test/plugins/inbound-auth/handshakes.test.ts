// Setup handshakes: the exact answer for the provider, no answer for others, and no signature over a caller's text.
import { createHmac, generateKeyPairSync, sign } from "node:crypto"
import { expect } from "chai"
import fc from "fast-check"
import { causeOf, endpoint, form, inbound, type Made, now, providerOf, type RequestInput } from "./requests.ts"
import { senders } from "./senders.ts"

const key = "correct horse battery staple"
const shake = (provider: string, input: RequestInput, pipeline: Made = { secrets: [key] }) =>
  providerOf(provider, pipeline).handshake?.(inbound(input))
const get = (query: Record<string, string>): RequestInput => ({ method: "GET", url: `${endpoint}?${new URLSearchParams(query)}` })
const hmac = (text: string, encoding: "hex" | "base64") => createHmac("sha256", key).update(text).digest(encoding)

function signedBy(provider: string, body: string): RequestInput {
  const sender = senders.find((item) => item.provider === provider)
  if (!sender) throw new Error(`no sender for ${provider}`)
  return sender.send(body, now)
}

describe("handshakes", () => {
  it("slack: the challenge of a signed url_verification, and of no other", () => {
    const body = JSON.stringify({ type: "url_verification", challenge: "3eZbrw1aB", token: "t" })
    expect(shake("slack", signedBy("slack", body))).to.deep.include({ status: 200, body: "3eZbrw1aB" })
    expect(shake("slack", { ...signedBy("slack", body), body: `${body} ` })).to.equal(undefined)
    expect(shake("slack", signedBy("slack", '{"type":"event_callback","challenge":"x"}'))).to.equal(undefined)
    expect(shake("slack", signedBy("slack", body), {})).to.equal(undefined)
  })

  it("meta: the challenge for the verify token, 403 otherwise", () => {
    const created = { secrets: [key], config: { verify_token: "chosen-token" } }
    const query = { "hub.mode": "subscribe", "hub.verify_token": "chosen-token", "hub.challenge": "1158201444" }
    for (const provider of ["meta_lead_ads", "meta_whatsapp"]) {
      expect(shake(provider, get(query), created)).to.deep.include({ status: 200, body: "1158201444" })
      expect(shake(provider, get({ ...query, "hub.verify_token": "another-token" }), created)).to.include({ status: 403 })
      expect(shake(provider, get(query), { secrets: [key] })).to.include({ status: 403 })
      expect(shake(provider, { ...get(query), method: "POST" }, created)).to.equal(undefined)
    }
  })

  it("echoes are plain text, short and printable", () => {
    for (const [provider, input] of [
      ["dropbox", get({ challenge: "abc" })],
      ["microsoft_graph", { url: `${endpoint}?validationToken=abc` }],
      ["front", { headers: { "x-front-challenge": "abc" }, body: "{}" }],
    ] as const) {
      expect(shake(provider, input)).to.deep.equal({
        status: 200,
        headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
        body: "abc",
      })
    }
    expect(shake("dropbox", get({ challenge: "a\r\nb" }))).to.equal(undefined)
    expect(shake("dropbox", get({ challenge: "x".repeat(1_025) }))).to.equal(undefined)
    expect(shake("dropbox", get({}))).to.equal(undefined)
    expect(shake("microsoft_graph", { url: `${endpoint}?validationToken=abc`, body: "{}" })).to.equal(undefined)
  })

  it("monday: a body that is exactly the challenge", () => {
    expect(shake("monday", { body: '{"challenge":"abc"}' })).to.deep.include({ status: 200, body: '{"challenge":"abc"}' })
    expect(shake("monday", { body: '{"challenge":"abc","event":{}}' })).to.equal(undefined)
  })

  it("asana: takes a delivered secret only while there is none", async () => {
    const input = { headers: { "x-hook-secret": "s3cr3t" } }
    expect(shake("asana", input, {})).to.deep.equal({
      status: 200,
      headers: { "x-hook-secret": "s3cr3t" },
      body: "",
      deliveredSecret: "s3cr3t",
    })
    const later = shake("asana", input)
    expect(later).to.include({ status: 409 })
    expect(later).not.to.have.property("deliveredSecret")
    expect(shake("asana", signedBy("asana", '{"events":[]}'))).to.deep.equal({ status: 200, body: "" })
    expect(shake("asana", { body: '{"events":[]}' })).to.equal(undefined)
    expect(causeOf(await providerOf("asana").verify(inbound(signedBy("asana", "{}"))))).to.equal("no_secret")
  })

  it("notion: takes a delivered token only while there is none", () => {
    const input = { body: '{"verification_token":"secret_abc"}' }
    expect(shake("notion", input, {})).to.deep.equal({ status: 200, body: "", deliveredSecret: "secret_abc" })
    expect(shake("notion", input)).to.deep.equal({ status: 409, body: "" })
    expect(shake("notion", { body: '{"verification_token":"x","type":"page"}' }, {})).to.equal(undefined)
  })

  it("linkedin: signs a UUID and nothing else", () => {
    const code = "890e4665-4dfe-4ab1-b689-ed553bceeed0"
    expect(JSON.parse(shake("linkedin", get({ challengeCode: code }))?.body ?? "")).to.deep.equal({
      challengeCode: code,
      challengeResponse: hmac(code, "hex"),
    })
    for (const text of ["hmacsha256={}", `${code}x`, "{}", "abc"])
      expect(shake("linkedin", get({ challengeCode: text })), text).to.deep.equal({ status: 400, body: "" })
  })

  it("zoom: signs a plain token and nothing that a delivery could be", () => {
    const ask = (plainToken: unknown) =>
      shake("zoom", { body: JSON.stringify({ event: "endpoint.url_validation", payload: { plainToken } }) })
    expect(JSON.parse(ask("qgg8vlvZRS6UYooatFL8Aw")?.body ?? "")).to.deep.equal({
      plainToken: "qgg8vlvZRS6UYooatFL8Aw",
      encryptedToken: hmac("qgg8vlvZRS6UYooatFL8Aw", "hex"),
    })
    for (const text of [`v0:1:{}`, "with space", "", 5, null]) expect(ask(text), String(text)).to.deep.equal({ status: 400, body: "" })
  })

  it("x: signs a token, never what could be a body", () => {
    const token = "NTQ5NDRjMWMtZjM0MS00N2RjLWFmZWQ="
    expect(JSON.parse(shake("x", get({ crc_token: token }))?.body ?? "")).to.deep.equal({
      response_token: `sha256=${hmac(token, "base64")}`,
    })
    for (const text of ["{}", '"quoted"', "1234567890", "123456e7", "1e10e", "a=b&c=d9", "[1,2,3,4,5]"]) {
      expect(shake("x", get({ crc_token: text })), text).to.deep.equal({ status: 400, body: "" })
    }
  })

  it("no handshake is a signing oracle: no answer verifies as a delivery of the text asked for", () =>
    fc.assert(
      fc.asyncProperty(fc.oneof(fc.json(), fc.string(), fc.stringMatching(/^[0-9eE.+-]{8,20}$/)), async (text) => {
        const requests = [
          ["linkedin", get({ challengeCode: text }), "x-li-signature", "challengeResponse"],
          ["x", get({ crc_token: text }), "x-twitter-webhooks-signature", "response_token"],
          [
            "zoom",
            { body: JSON.stringify({ event: "endpoint.url_validation", payload: { plainToken: text } }) },
            "x-zm-signature",
            "encryptedToken",
          ],
        ] as const
        for (const [provider, input, header, field] of requests) {
          const answer = shake(provider, input)
          if (answer?.status !== 200) continue
          const signature = JSON.parse(answer.body)[field]
          const time = provider === "zoom" ? { "x-zm-request-timestamp": String(Math.floor(now / 1_000)) } : {}
          const verdict = await providerOf(provider, { secrets: [key] }).verify(
            inbound({ body: text, headers: { [header]: provider === "zoom" ? `v0=${signature}` : signature, ...time } }),
          )
          const isEvent = provider !== "x" || isJson(text)
          if (isEvent) expect(verdict.ok, `${provider}: ${text}`).to.equal(false)
        }
      }),
      { numRuns: 200 },
    ))

  it("twitch: the challenge of a signed verification", () => {
    const headers = { "twitch-eventsub-message-type": "webhook_callback_verification" }
    const input = signedBy("twitch", '{"challenge":"pogchamp"}')
    expect(shake("twitch", { ...input, headers: { ...input.headers, ...headers } })).to.deep.include({ status: 200, body: "pogchamp" })
    expect(shake("twitch", { ...input, headers: { ...input.headers, ...headers } }, { secrets: ["other"] })).to.equal(undefined)
    expect(shake("twitch", input)).to.equal(undefined)
  })

  it("discord: answers signed pings, 401 to wrongly signed ones, and leaves events alone", () => {
    const pair = generateKeyPairSync("ed25519")
    const secrets = [pair.publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("hex")]
    const at = String(Math.floor(now / 1_000))
    const ping = (body: string): RequestInput => ({
      body,
      headers: { "x-signature-timestamp": at, "x-signature-ed25519": sign(null, Buffer.from(at + body), pair.privateKey).toString("hex") },
    })
    expect(shake("discord_events", ping('{"type":0}'), { secrets })).to.deep.equal({ status: 204, body: "" })
    expect(shake("discord_interactions", ping('{"type":1}'), { secrets })).to.deep.include({ status: 200, body: '{"type":1}' })
    for (const [provider, body] of [
      ["discord_events", '{"type":0}'],
      ["discord_interactions", '{"type":1}'],
    ] as const) {
      expect(shake(provider, { ...ping(body), body: body.replace("}", " }") }, { secrets })).to.deep.equal({ status: 401, body: "" })
    }
    expect(shake("discord_events", ping('{"type":1,"event":{"type":"X"}}'), { secrets })).to.equal(undefined)
    expect(shake("discord_interactions", ping('{"type":2}'), { secrets })).to.equal(undefined)
  })

  it("xero: 200 for rightly signed intents, 401 for wrong ones, both empty", () => {
    const body = '{"events":[],"firstEventSequence":0,"lastEventSequence":0,"entropy":"S0m3r4Nd0mt3xt"}'
    expect(shake("xero", signedBy("xero", body))).to.deep.equal({ status: 200, body: "" })
    expect(shake("xero", { ...signedBy("xero", body), body: `${body} ` })).to.deep.equal({ status: 401, body: "" })
    expect(shake("xero", signedBy("xero", '{"events":[{}]}'))).to.equal(undefined)
  })

  it("probes without a body get their 200, and nothing else does", () => {
    for (const provider of ["mailchimp", "trello"]) {
      for (const method of ["GET", "HEAD"]) expect(shake(provider, { method })).to.deep.equal({ status: 200, body: "" })
      expect(shake(provider, { method: "POST" })).to.equal(undefined)
    }
    expect(shake("mandrill", { method: "HEAD" })).to.deep.equal({ status: 200, body: "" })
    const formType = { "content-type": "application/x-www-form-urlencoded" }
    expect(shake("mandrill", { headers: formType, body: form([["mandrill_events", "[]"]]) })).to.deep.equal({ status: 200, body: "" })
    expect(shake("mandrill", { headers: formType, body: form([["mandrill_events", "[{}]"]]) })).to.equal(undefined)
    expect(shake("woocommerce", { headers: formType, body: "webhook_id=7" })).to.deep.equal({ status: 200, body: "" })
    expect(shake("woocommerce", { headers: formType, body: "webhook_id=7&x=1" })).to.equal(undefined)
  })

  it("signed pings are answered without becoming events, unsigned ones are not", () => {
    const pings = [
      ["github", '{"zen":"x"}', { "x-github-event": "ping" }],
      ["pagerduty", '{"event":{"event_type":"pagey.ping"}}', {}],
      ["intercom", '{"topic":"ping"}', {}],
    ] as const
    for (const [provider, body, extra] of pings) {
      const input = signedBy(provider, body)
      expect(shake(provider, { ...input, headers: { ...input.headers, ...extra } }), provider).to.deep.equal({ status: 200, body: "" })
      expect(shake(provider, { body, headers: extra }), provider).to.equal(undefined)
    }
    const sync = { "x-goog-resource-state": "sync", "x-goog-channel-token": key }
    expect(shake("google_drive", { headers: sync })).to.deep.equal({ status: 200, body: "" })
    expect(shake("google_drive", { headers: { ...sync, "x-goog-channel-token": "other" } })).to.equal(undefined)
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
