// Common mistakes: ambiguous requests, other spellings of a signature, ids that lose digits, proofs without the payload, and
// verdicts that reveal too much.
import { createHash, createHmac } from "node:crypto"
import { expect } from "chai"
import fc from "fast-check"
import { providerFacts } from "../../../plugins/inbound-auth/index.ts"
import { causeOf, endpoint, form, inbound, now, providerOf } from "./requests.ts"
import { senders } from "./senders.ts"

const key = "correct horse battery staple"
const hex = (text: string | Buffer, secret = key) => createHmac("sha256", secret).update(text).digest("hex")
const github = (body: string | Buffer, signature: string | string[]) =>
  providerOf("github", { secrets: [key] }).verify(inbound({ body, headers: { "x-hub-signature-256": signature } }))

describe("traps of verification", () => {
  it("bodies are bytes, not text", async () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x00, 0x80])
    expect(causeOf(await github(bytes, `sha256=${hex(bytes)}`))).to.equal("ok")
    expect(causeOf(await github(bytes, `sha256=${hex(bytes.toString("utf8"))}`))).to.equal("wrong_secret")
  })

  it("a signature of another length, case, encoding or with more around it is refused", async () => {
    const right = hex("{}")
    for (const other of [
      "",
      right.slice(1),
      `${right}0`,
      right.toUpperCase(),
      Buffer.from(right, "hex").toString("base64"),
      ` ${right}`,
      `${right},${right}`,
    ]) {
      expect(causeOf(await github("{}", `sha256=${other}`)), other).to.equal("malformed_signature")
    }
    expect(causeOf(await github("{}", right))).to.equal("malformed_signature")
    expect(causeOf(await github("{}", ""))).to.equal("missing_header")
  })

  it("a base64 signature has one spelling only", async () => {
    const signature = createHmac("sha256", key).update("{}").digest("base64")
    const judge = async (value: string) =>
      causeOf(await providerOf("shopify", { secrets: [key] }).verify(inbound({ body: "{}", headers: { "x-shopify-hmac-sha256": value } })))
    expect(await judge(signature)).to.equal("ok")
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    const twin = `${signature.slice(0, 42)}${alphabet[alphabet.indexOf(signature[42] ?? "") ^ 1]}=`
    expect(Buffer.from(twin, "base64").equals(Buffer.from(signature, "base64")), "the twin decodes to the same bytes").to.equal(true)
    for (const other of [twin, signature.replace("=", ""), `${signature}\n`]) expect(await judge(other), other).not.to.equal("ok")
  })

  it("a header sent twice counts only when both agree", async () => {
    const right = `sha256=${hex("{}")}`
    expect(causeOf(await github("{}", [right, right]))).to.equal("ok")
    expect(causeOf(await github("{}", [right, "sha256=00"]))).to.equal("duplicate_header")
    expect(causeOf(await github("{}", ["sha256=00", right]))).to.equal("duplicate_header")
    const twice = `${endpoint}?signature=${hex("[]")}&signature=00`
    expect(causeOf(await providerOf("pandadoc", { secrets: [key] }).verify(inbound({ body: "[]", url: twice })))).to.equal(
      "duplicate_parameter",
    )
  })

  it("two differing times in one header are refused", async () => {
    const at = Math.floor(now / 1_000)
    const header = `t=${at},t=${at + 1},v1=${hex(`${at}.{}`)}`
    expect(
      causeOf(await providerOf("stripe", { secrets: [key] }).verify(inbound({ body: "{}", headers: { "stripe-signature": header } }))),
    ).to.equal("malformed_signature")
  })

  it("thousands of guesses in one header are refused unread", async () => {
    const guesses = Array.from({ length: 5_000 }, (_, index) => `v1=${index.toString(16).padStart(64, "0")}`).join(",")
    const verdict = await providerOf("pagerduty", { secrets: [key] }).verify(
      inbound({ body: "{}", headers: { "x-pagerduty-signature": guesses } }),
    )
    expect(causeOf(verdict)).to.equal("malformed_signature")
  })

  it("a placeholder in place of a signature is named", async () => {
    const verdict = await providerOf("cal_com", { secrets: [key] }).verify(
      inbound({ body: "{}", headers: { "x-cal-signature-256": "no-secret-provided" } }),
    )
    expect(verdict).to.deep.include({ ok: false, cause: "malformed_signature" })
    expect(verdict.ok ? "" : verdict.message).to.include("no secret is set")
  })

  it("ids of 64 bits keep every digit", async () => {
    const lead = `{"object":"page","entry":[{"changes":[{"field":"leadgen","value":{"leadgen_id":9007199254740993123}}]}]}`
    const verdict = await providerOf("meta_lead_ads", { secrets: [key] }).verify(
      inbound({ body: lead, headers: { "x-hub-signature-256": `sha256=${hex(lead)}` } }),
    )
    expect(verdict).to.deep.include({ ok: true, eventId: "9007199254740993123", eventType: "leadgen" })
    const ads = `{"lead_id":12345678901234567891,"google_key":"${key}"}`
    expect(await providerOf("google_ads_lead_form", { secrets: [key] }).verify(inbound({ body: ads }))).to.deep.equal({
      ok: true,
      secretId: "secret-1",
      proof: { body: ["google_key"] },
      eventId: "12345678901234567891",
    })
  })

  it("a batch yields an id only when it is the only one", async () => {
    const judge = async (body: string) => {
      const headers = {
        "x-hubspot-request-timestamp": String(now),
        "x-hubspot-signature-v3": createHmac("sha256", key).update(`POST${endpoint}${body}${now}`).digest("base64"),
      }
      return providerOf("hubspot_v3", { secrets: [key] }).verify(inbound({ body, headers }))
    }
    expect(await judge('[{"eventId":1,"subscriptionType":"a"}]')).to.include({ ok: true, eventId: "1", eventType: "a" })
    const two = await judge('[{"eventId":1,"subscriptionType":"a"},{"eventId":2,"subscriptionType":"a"}]')
    expect(two).to.include({ ok: true, eventType: "a" })
    expect(two).not.to.have.property("eventId")
  })

  it("HubSpot's v3 decodes twelve sequences of the URL, and no others", async () => {
    const url = `${endpoint}?a=%3A%2F%3F%40%21%24%27%28%29%2A%2C%3B&b=%20%26%3D%25`
    const signed = `${endpoint}?a=:/?@!$'()*,;&b=%20%26%3D%25`
    const judge = async (text: string) => {
      const signature = createHmac("sha256", key).update(`POST${text}[]${now}`).digest("base64")
      return causeOf(
        await providerOf("hubspot_v3", { secrets: [key] }).verify(
          inbound({ url, body: "[]", headers: { "x-hubspot-request-timestamp": String(now), "x-hubspot-signature-v3": signature } }),
        ),
      )
    }
    expect(await judge(signed)).to.equal("ok")
    expect(await judge(url)).to.equal("wrong_secret")
    expect(await judge(decodeURIComponent(url))).to.equal("wrong_secret")
  })

  it("a hash with the secret in front cannot be extended", async () => {
    // The extension of a SHA-256 starts with 0x80. In UTF-8 text this byte cannot follow the end.
    const body = Buffer.concat([Buffer.from("{}"), Buffer.from([0x80, 0, 0]), Buffer.from("{}")])
    const signature = createHash("sha256").update(key).update(body).digest("hex")
    const verdict = await providerOf("hubspot_v1", { secrets: [key] }).verify(
      inbound({ body, headers: { "x-hubspot-signature": signature, "x-hubspot-signature-version": "v1" } }),
    )
    expect(verdict.ok).to.equal(false)
  })

  it("a version of a signature passes for no other", async () => {
    const signature = createHash("sha256").update(`${key}{}`).digest("hex")
    for (const [provider, version] of [
      ["hubspot_v1", "v2"],
      ["hubspot_v2", "v1"],
    ] as const) {
      const verdict = await providerOf(provider, { secrets: [key] }).verify(
        inbound({ body: "{}", headers: { "x-hubspot-signature": signature, "x-hubspot-signature-version": version } }),
      )
      expect(causeOf(verdict)).to.equal("malformed_signature")
    }
  })

  it("a signature over form fields does not carry another kind of body", async () => {
    const signature = createHmac("sha1", key).update(endpoint).digest("base64")
    for (const type of ["application/json", "text/plain", "multipart/form-data; boundary=x"]) {
      const verdict = await providerOf("twilio", { secrets: [key] }).verify(
        inbound({ body: "{}", headers: { "content-type": type, "x-twilio-signature": signature } }),
      )
      expect(causeOf(verdict), type).to.equal("body_not_covered")
    }
  })

  it("a token that covers no body is good for one body", async () => {
    const sender = senders.find(({ provider }) => provider === "mailgun")
    const message = sender?.send("first", now)
    if (!message) throw new Error("no sender")
    const verifier = providerOf("mailgun", { secrets: [key] })
    const forged = message.body.replace("first", "forged")
    expect(forged).not.to.equal(message.body)
    expect(await verifier.verify(inbound(message))).to.deep.include({ ok: true, eventId: "e-1", proof: { body: ["signature.signature"] } })
    expect(causeOf(await verifier.verify(inbound(message))), "the same delivery again").to.equal("ok")
    expect(causeOf(await verifier.verify(inbound({ ...message, body: forged })))).to.equal("token_reused")
  })

  it("every item of an Adyen batch must be signed", async () => {
    const sender = senders.find(({ provider }) => provider === "adyen")
    const message = sender?.send("r", now)
    if (!sender || !message) throw new Error("no sender")
    const { notificationItems } = JSON.parse(message.body)
    const forged = structuredClone(notificationItems[0])
    forged.NotificationRequestItem.amount.value = 1
    const judge = async (items: unknown[]) =>
      causeOf(
        await providerOf("adyen", { secrets: [sender.secret] }).verify(
          inbound({ ...message, body: JSON.stringify({ notificationItems: items }) }),
        ),
      )
    expect(await judge([notificationItems[0], notificationItems[0]])).to.equal("ok")
    expect(await judge([notificationItems[0], forged])).to.equal("wrong_secret")
    expect(await judge([])).to.equal("missing_field")
    expect(await judge([notificationItems[0], null])).to.equal("missing_signature")
  })

  it("every notification of a Microsoft batch must hold the token", async () => {
    const judge = (value: unknown) => providerOf("microsoft_graph", { secrets: [key] }).verify(inbound({ body: JSON.stringify({ value }) }))
    expect(
      await judge([
        { id: "1", clientState: key },
        { id: "2", clientState: key },
      ]),
    ).to.deep.include({ ok: true, proof: { body: ["value.0.clientState", "value.1.clientState"] } })
    expect(causeOf(await judge([{ clientState: key }, { clientState: "other" }]))).to.equal("wrong_secret")
    expect(causeOf(await judge([{ clientState: key }, {}]))).to.equal("missing_field")
    expect(causeOf(await judge([]))).to.equal("missing_field")
  })

  it("coversBody is true only where a change of the body is noticed", () => {
    const uncovered = providerFacts()
      .map(({ provider }) => provider)
      .filter((slug) => !providerOf(slug, { config: required[slug] ?? {} }).coversBody)
    expect(uncovered.sort()).to.deep.equal([
      "activecampaign",
      "adyen",
      "aircall",
      "braze",
      "brevo",
      "chargebee",
      "dropbox_sign",
      "fillout",
      "freshdesk",
      "gitlab",
      "google_ads_lead_form",
      "google_drive",
      "instantly",
      "jira_connect",
      "jotform",
      "mailchimp",
      "mailgun",
      "microsoft_graph",
      "monday",
      "paypal",
      "pipedrive",
      "postmark",
      "salesforce",
      "smartlead",
      "sparkpost",
      "telegram",
    ])
  })

  it("no proof names what it merely covers", async () => {
    const slack = senders.find(({ provider }) => provider === "slack")
    const message = slack?.send("{}", now)
    if (!message) throw new Error("no sender")
    expect(await providerOf("slack", { secrets: [key] }).verify(inbound(message))).to.deep.include({
      proof: { headers: ["x-slack-signature"] },
    })
    const pandadoc = `${endpoint}?signature=${hex("[]")}&uuid=1`
    expect(await providerOf("pandadoc", { secrets: [key] }).verify(inbound({ url: pandadoc, body: "[]" }))).to.deep.include({
      proof: { query: ["signature"] },
    })
  })

  it("no verdict repeats a secret or the expected signature, and none throws", () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...senders),
        fc.dictionary(fc.string(), fc.string()),
        fc.string({ unit: "binary" }),
        fc.constantFrom("GET", "POST", "HEAD"),
        async (sender, noise, body, method) => {
          const message = sender.send(body.toWellFormed(), now)
          const verifier = providerOf(sender.provider, { secrets: [`${sender.secret}0`], ...(sender.config && { config: sender.config }) })
          const request = inbound({
            method,
            ...message,
            headers: { ...message.headers, ...noise, "content-type": noise["a"] ?? "multipart/form-data; boundary=b" },
          })
          const outcome = JSON.stringify([await verifier.verify(request), await verifier.verify({ ...request, body: Buffer.from(body) })])
          verifier.handshake?.(request)
          expect(outcome).not.to.include(sender.secret)
          const right = Object.values(message.headers).filter((value) => value.length > 30)
          for (const signature of right) expect(outcome).not.to.include(signature)
        },
      ),
      { numRuns: 300 },
    ))

  it("form bodies are read as forms", async () => {
    const body = form([
      ["google_key", key],
      ["lead_id", "5"],
    ])
    const verdict = await providerOf("google_ads_lead_form", { secrets: [key] }).verify(
      inbound({ body, headers: { "content-type": "application/x-www-form-urlencoded" } }),
    )
    expect(verdict).to.include({ ok: true, eventId: "5" })
  })
})

const required: Readonly<Record<string, Record<string, string>>> = {
  aws_sns: { topic_arn: "arn:aws:sns:eu-west-1:123456789012:mail" },
  fillout: { header: "x-key" },
  tiktok_shop: { app_key: "app-1" },
}
