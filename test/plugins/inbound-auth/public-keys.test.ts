// Signatures with a provider's private key: ECDSA, Ed25519, RSA, certificates named in a request, and tokens.
import { createHash, generateKeyPairSync, sign } from "node:crypto"
import { expect } from "chai"
import { exportJWK, FlattenedSign, SignJWT } from "jose"
import { requestHash } from "../../../plugins/inbound-auth/schemes/jwt-claims.ts"
import { causeOf, endpoint, form, inbound, now, providerOf } from "./requests.ts"

const at_s = Math.floor(now / 1_000)
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" })
const ed = generateKeyPairSync("ed25519")
const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 })
const rsaPem = rsa.publicKey.export({ type: "spki", format: "pem" }).toString()
const rawEd = ed.publicKey.export({ type: "spki", format: "der" }).subarray(-32)
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")

interface Case {
  readonly provider: string
  readonly secret: string
  readonly headers: (body: string) => Record<string, string>
  readonly signature: string
}

const cases: readonly Case[] = [
  {
    provider: "sendgrid",
    secret: ec.publicKey.export({ type: "spki", format: "der" }).toString("base64"),
    signature: "x-twilio-email-event-webhook-signature",
    headers: (body) => ({
      "x-twilio-email-event-webhook-timestamp": String(at_s),
      "x-twilio-email-event-webhook-signature": sign("sha256", Buffer.from(at_s + body), ec.privateKey).toString("base64"),
    }),
  },
  ...["discord_events", "discord_interactions"].map((provider) => ({
    provider,
    secret: rawEd.toString("hex"),
    signature: "x-signature-ed25519",
    headers: (body: string) => ({
      "x-signature-timestamp": String(at_s),
      "x-signature-ed25519": sign(null, Buffer.from(at_s + body), ed.privateKey).toString("hex"),
    }),
  })),
  {
    provider: "telnyx",
    secret: rawEd.toString("base64"),
    signature: "telnyx-signature-ed25519",
    headers: (body) => ({
      "telnyx-timestamp": String(at_s),
      "telnyx-signature-ed25519": sign(null, Buffer.from(`${at_s}|${body}`), ed.privateKey).toString("base64"),
    }),
  },
  {
    provider: "standard_webhooks",
    secret: `whpk_${rawEd.toString("base64")}`,
    signature: "webhook-signature",
    headers: (body) => ({
      "webhook-id": "m",
      "webhook-timestamp": String(at_s),
      "webhook-signature": `v1a,${sign(null, Buffer.from(`m.${at_s}.${body}`), ed.privateKey).toString("base64")}`,
    }),
  },
  {
    provider: "wise",
    secret: rsaPem,
    signature: "x-signature-sha256",
    headers: (body) => ({ "x-signature-sha256": sign("sha256", Buffer.from(body), rsa.privateKey).toString("base64") }),
  },
]

describe("public-key signatures", () => {
  for (const { provider, secret, headers, signature } of cases) {
    it(`${provider}: right ones pass, any change is refused`, async () => {
      const body = '[{"a":"ü"}]'
      const message = headers(body)
      const verifier = providerOf(provider, { secrets: [secret] })
      const judge = async (change: object) => causeOf(await verifier.verify(inbound({ body, headers: message, ...change })))
      expect(await verifier.verify(inbound({ body, headers: message }))).to.deep.include({
        ok: true,
        secretId: "secret-1",
        proof: { headers: [signature] },
      })
      expect(verifier.coversBody).to.equal(true)
      expect(await judge({ body: `${body}x` })).to.equal("wrong_secret")
      expect(await judge({ headers: { ...message, [signature]: `${message[signature]}`.replace(/.$/, "!") } })).to.be.oneOf([
        "malformed_signature",
        "wrong_secret",
      ])
      expect(await judge({ headers: { ...message, [signature]: "AAAA" } })).to.be.oneOf(["malformed_signature", "wrong_secret"])
      expect(await judge({ headers: {} })).to.equal("missing_header")
      expect(causeOf(await providerOf(provider).verify(inbound({ body, headers: message })))).to.equal("no_secret")
    })
  }

  it("paddle_classic: signs its form fields as PHP writes them", async () => {
    const fields = { alert_name: "payment", alert_id: "7", name: "Zoë" }
    const serialized = 'a:3:{s:8:"alert_id";s:1:"7";s:10:"alert_name";s:7:"payment";s:4:"name";s:4:"Zoë";}'
    const body = form([
      ...Object.entries(fields),
      ["p_signature", sign("sha1", Buffer.from(serialized), rsa.privateKey).toString("base64")],
    ])
    const headers = { "content-type": "application/x-www-form-urlencoded" }
    const verifier = providerOf("paddle_classic", { secrets: [rsaPem] })
    expect(await verifier.verify(inbound({ body, headers }))).to.deep.include({
      ok: true,
      eventId: "7",
      eventType: "payment",
      proof: { body: ["p_signature"] },
    })
    expect(causeOf(await verifier.verify(inbound({ body: body.replace("payment", "refund1"), headers })))).to.equal("wrong_secret")
    expect(causeOf(await verifier.verify(inbound({ body: `${body}&alert_id=7`, headers })))).to.equal("duplicate_parameter")
  })
})

const encoder = new TextEncoder()
const hs = (claims: Record<string, unknown>, key: string) =>
  new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(encoder.encode(key))

describe("signed tokens", () => {
  const body = '{"a":1}'
  const judge = async (provider: string, header: string, token: string, change: object = {}, secret = "key") =>
    causeOf(await providerOf(provider, { secrets: [secret] }).verify(inbound({ body, headers: { [header]: token }, ...change })))

  it("netlify: binds the body, pins algorithm and issuer", async () => {
    const token = await hs({ iss: "netlify", sha256: sha256(body) }, "key")
    expect(await judge("netlify", "x-webhook-signature", token)).to.equal("ok")
    expect(await judge("netlify", "x-webhook-signature", token, { body: '{"a":2}' })).to.equal("body_modified")
    expect(await judge("netlify", "x-webhook-signature", token, {}, "other")).to.equal("wrong_secret")
    expect(await judge("netlify", "x-webhook-signature", await hs({ iss: "x", sha256: sha256(body) }, "key"))).to.equal("wrong_claim")
    expect(await judge("netlify", "x-webhook-signature", await hs({ iss: "netlify" }, "key"))).to.equal("wrong_claim")
    const [, payload] = token.split(".")
    const unsigned = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.AAAA`
    expect(await judge("netlify", "x-webhook-signature", unsigned)).to.equal("malformed_signature")
    const stronger = await new SignJWT({ iss: "netlify", sha256: sha256(body) })
      .setProtectedHeader({ alg: "HS512" })
      .sign(encoder.encode("key"))
    expect(await judge("netlify", "x-webhook-signature", stronger)).to.equal("malformed_signature")
  })

  it("a token has one spelling: any character changed is refused", async () => {
    const token = await hs({ iss: "netlify", sha256: sha256(body) }, "key")
    for (let index = 0; index < token.length; index += 3) {
      const changed = token.slice(0, index) + String.fromCharCode(token.charCodeAt(index) ^ 1) + token.slice(index + 1)
      expect(await judge("netlify", "x-webhook-signature", changed), `at ${index}`).not.to.equal("ok")
    }
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    const twin = token.slice(0, -1) + alphabet[alphabet.indexOf(token.at(-1) ?? "") ^ 1]
    expect(await judge("netlify", "x-webhook-signature", twin)).to.equal("malformed_signature")
  })

  it("vonage: binds the body, holds the window", async () => {
    const token = (iat: number) => hs({ iss: "Vonage", payload_hash: sha256(body), iat, jti: "j" }, "key")
    expect(await judge("vonage", "authorization", `Bearer ${await token(at_s)}`)).to.equal("ok")
    expect(await judge("vonage", "authorization", `Bearer ${await token(at_s - 400)}`)).to.equal("timestamp_too_old")
    expect(await judge("vonage", "authorization", `Bearer ${await token(at_s + 400)}`)).to.equal("timestamp_in_future")
    expect(await judge("vonage", "authorization", `Bearer ${await token(at_s)}`, { body: "{}" })).to.equal("body_modified")
  })

  it("messagebird: binds URL and body, and expires", async () => {
    const claims = { iss: "MessageBird", nbf: at_s - 5, url_hash: sha256(endpoint), payload_hash: sha256(body) }
    const name = "messagebird-signature-jwt"
    expect(await judge("messagebird", name, await hs({ ...claims, exp: at_s + 60 }, "key"))).to.equal("ok")
    expect(await judge("messagebird", name, await hs({ ...claims, exp: at_s - 120 }, "key"))).to.equal("expired_token")
    expect(await judge("messagebird", name, await hs(claims, "key"))).to.equal("wrong_claim")
    expect(await judge("messagebird", name, await hs({ ...claims, exp: at_s + 60 }, "key"), { url: `${endpoint}x` })).to.equal(
      "url_mismatch",
    )
  })

  it("monday: is for this URL, and does not cover the body", async () => {
    const token = await hs({ aud: endpoint, iat: at_s, exp: at_s + 300 }, "key")
    expect(await judge("monday", "authorization", token)).to.equal("ok")
    expect(await judge("monday", "authorization", token, { url: `${endpoint}2` })).to.equal("url_mismatch")
    expect(providerOf("monday").coversBody).to.equal(false)
  })

  it("jira_connect: binds method, path and query", async () => {
    // Published example of the query string hash (Atlassian Connect, "Creating a query string hash").
    const example = "https://example.test/path/to/service?zee_last=param&repeated=parameter%201&first=param&repeated=parameter%202"
    expect(requestHash("GET", example)).to.equal(
      sha256("GET&/path/to/service&first=param&repeated=parameter%201,parameter%202&zee_last=param"),
    )
    const url = `${endpoint}?b=2&a=1`
    const token = await hs({ qsh: requestHash("POST", url), iat: at_s, exp: at_s + 100 }, "key")
    expect(await judge("jira_connect", "authorization", `JWT ${token}`, { url })).to.equal("ok")
    expect(await judge("jira_connect", "authorization", `JWT ${token}`, { url: `${url}&c=3` })).to.equal("url_mismatch")
    const loose = await hs({ qsh: "context-qsh", iat: at_s, exp: at_s + 100 }, "key")
    expect(await judge("jira_connect", "authorization", `JWT ${loose}`, { url })).to.equal("wrong_audience")
  })

  it("plaid: verifies with the stored JWK of the key id, and says which is unknown", async () => {
    const jwk = { ...(await exportJWK(ec.publicKey)), kid: "k1" }
    const token = (kid: string) =>
      new SignJWT({ iat: at_s, request_body_sha256: sha256(body) }).setProtectedHeader({ alg: "ES256", kid }).sign(ec.privateKey)
    const stored = JSON.stringify({ keys: [jwk] })
    expect(await judge("plaid", "plaid-verification", await token("k1"), {}, stored)).to.equal("ok")
    expect(await judge("plaid", "plaid-verification", await token("k1"), {}, JSON.stringify(jwk))).to.equal("ok")
    expect(await judge("plaid", "plaid-verification", await token("k2"), {}, stored)).to.equal("unknown_key")
    expect(await judge("plaid", "plaid-verification", await token("k1"), { body: "{}" }, stored)).to.equal("body_modified")
    expect(await judge("plaid", "plaid-verification", await token("k1"), { receivedAt: now + 301_000 }, stored)).to.equal(
      "timestamp_too_old",
    )
  })

  it("constant_contact: verifies a detached token with the published keys", async () => {
    const requests: string[] = []
    const keys = JSON.stringify({ keys: [await exportJWK(rsa.publicKey)] })
    const fetcher = {
      get: async (url: string) => {
        requests.push(url)
        return keys
      },
    }
    const signed = await new FlattenedSign(encoder.encode(body))
      .setProtectedHeader({ alg: "RS256", b64: false, crit: ["b64"] })
      .sign(rsa.privateKey)
    const headers = { "x-ctct-webhook-sig": `${signed.protected}..${signed.signature}` }
    const verifier = providerOf("constant_contact", { fetcher })
    expect(causeOf(await verifier.verify(inbound({ body, headers })))).to.equal("ok")
    expect(causeOf(await verifier.verify(inbound({ body: "{}", headers })))).to.equal("wrong_secret")
    expect(requests).to.deep.equal(["https://developer.constantcontact.com/.well-known/jwks.json"])
    expect(causeOf(await providerOf("constant_contact", { config: { public_key: keys } }).verify(inbound({ body, headers })))).to.equal(
      "ok",
    )
    expect(causeOf(await providerOf("constant_contact").verify(inbound({ body, headers })))).to.equal("key_unavailable")
  })
})
