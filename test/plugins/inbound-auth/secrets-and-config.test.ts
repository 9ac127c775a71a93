// A provider's auth_config: allowed fields, the creator of its secret, and secrets that can never verify.
import { generateKeyPairSync } from "node:crypto"
import { expect } from "chai"
import { AppError, type Registrar } from "#core"
import inboundAuth, { providerFacts, verifyCaptured } from "../../../plugins/inbound-auth/index.ts"
import { providerSignature } from "../../../plugins/inbound-auth/modes/provider-signature.ts"
import { providerRows } from "../../../plugins/inbound-auth/providers/table.ts"
import { refusalOf } from "../../refusal.ts"
import { causeOf, inbound, now, providerOf } from "./requests.ts"
import { senders } from "./senders.ts"

const generated = `whsec_${Buffer.alloc(32, 7).toString("base64")}`
const parse = (config: object) => providerSignature.config.parse(config)
const problem = (secret: string, config: object): string => {
  try {
    providerSignature.checkSecret?.(secret, parse(config))
    return ""
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    expect([error.code, error.details.reason]).to.deep.equal(["invalid_argument", "unusable_secret"])
    expect(error.details.fields?.map(({ path }) => path)).to.deep.equal(["auth_config.secret"])
    if (secret.trim() !== "" && secret.length > 3) expect(error.message).not.to.include(secret)
    return error.message
  }
}

describe("provider_signature's configuration", () => {
  it("knows its providers, and guesses what was meant", () => {
    expect(() => parse({ provider: "hubspot" })).to.throw(/hubspot_v1/)
    expect(() => parse({ provider: "strip" })).to.throw(/stripe/)
    expect(() => parse({})).to.throw()
    expect(() => parse({ provider: "stripe", colour: 1 })).to.throw()
  })

  it("is checked for captured requests too, with the fields that are wrong", async () => {
    const request = { headers: {}, body: "{}" }
    const error = await refusalOf(verifyCaptured({ provider: "tiktok_shop", secret: "s3cret-s3cret", request, now }))
    expect([error.code, error.details.reason]).to.deep.equal(["invalid_argument", "invalid_auth_config"])
    expect(error.details.fields?.map(({ path }) => path)).to.deep.equal(["auth_config.app_key"])
  })

  it("asks for what a provider needs, and refuses what it has no use for", () => {
    expect(() => parse({ provider: "tiktok_shop" })).to.throw(/app_key/)
    expect(() => parse({ provider: "aws_sns" })).to.throw(/topic_arn/)
    expect(() => parse({ provider: "stripe", verify_token: "12345678" })).to.throw(/no use/)
    expect(() => parse({ provider: "github", tolerance_s: 60 })).to.throw(/no timestamp/)
    expect(parse({ provider: "stripe", tolerance_s: 60 })).to.deep.equal({ provider: "stripe", tolerance_s: 60 })
  })
})

describe("providers' secrets", () => {
  const secretOf = (config: object) => providerSignature.secret(parse(config))

  it("are generated where the receiver chooses them, and verify as generated", async () => {
    for (const provider of ["github", "klaviyo", "standard_webhooks", "gitlab", "twitch"]) {
      expect(secretOf({ provider }), provider).to.equal("generated")
      expect(problem(generated, { provider }), provider).to.equal("")
    }
    for (const row of providerRows.filter(({ secret }) => secret === "receiver")) {
      const sender = senders.find(({ provider }) => provider === row.slug)
      if (!sender) continue
      const verifier = providerOf(row.slug, { secrets: [generated] })
      expect(causeOf(await verifier.verify(inbound(sender.send("{}", now, generated)))), row.slug).to.equal("ok")
    }
  })

  it("are taken where the provider makes them, and none where nothing is signed", () => {
    for (const provider of ["stripe", "slack", "sendgrid", "paypal", "postmark", "netlify"])
      expect(secretOf({ provider }), provider).to.equal("provided")
    for (const provider of ["jotform", "constant_contact", "mailchimp"]) expect(secretOf({ provider }), provider).to.equal("none")
    expect(secretOf({ provider: "mailchimp", query_parameter: "key" })).to.equal("generated")
  })

  it("a generated one is refused for public keys and tokens, with the remedy", () => {
    for (const row of providerRows) {
      if (row.secret !== "public_key" && row.scheme.kind !== "jwt") continue
      if (row.secret === "none") continue
      expect(problem(generated, { provider: row.slug }), row.slug).to.match(/generated secret can never verify.*copy it/)
    }
  })

  it("of the wrong form are refused, and the message does not repeat them", () => {
    const ecPem = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ type: "spki", format: "pem" }).toString().trim()
    expect(problem("", { provider: "stripe" })).to.include("empty")
    expect(problem("whsec_short", { provider: "stripe" }))
      .to.match(/has 11 characters; use at least 16/)
      .and.not.include("whsec_short")
    expect(problem("whsec_abcdefghijk ", { provider: "stripe" })).to.include("white space")
    expect(problem("zz11".repeat(8), { provider: "adyen" })).to.include("hexadecimal")
    expect(problem("nocolon-in-this-text", { provider: "postmark" })).to.include("user:password")
    expect(problem("user:long-password", { provider: "postmark" })).to.equal("")
    expect(problem(ecPem, { provider: "sendgrid" })).to.equal("")
    expect(problem(ecPem, { provider: "wise" })).to.include("type ec")
    expect(problem("0badc0de".repeat(3), { provider: "discord_events" })).to.include("is not a public key")
    expect(problem("whsk_abcdefghijkl", { provider: "svix" })).to.include("private key")
    expect(problem("whsec_!!!!!!!!!!!!", { provider: "svix" })).to.include("base64")
    expect(problem("a b c d e f g h i", { provider: "telegram" })).to.include("letters")
    expect(problem("{                  }", { provider: "plaid" })).to.include("JWK")
    expect(problem("anything", { provider: "jotform" })).to.include("without a secret")
  })
})

describe("a secret in the URL of a provider that signs nothing", () => {
  it("is required once asked for, and survives an unencoded +", async () => {
    const secret = "whsec_a+b/c=="
    const judge = async (query: string) =>
      causeOf(
        await providerOf("mailchimp", { secrets: [secret], config: { query_parameter: "key" } }).verify(
          inbound({ url: `https://a.test/x${query}` }),
        ),
      )
    expect(await judge(`?key=${encodeURIComponent(secret)}`)).to.equal("ok")
    expect(await judge(`?key=${secret}`)).to.equal("ok")
    expect(await judge("?key=other")).to.equal("wrong_secret")
    expect(await judge("")).to.equal("missing_token")
    expect(causeOf(await providerOf("mailchimp").verify(inbound({})))).to.equal("ok")
  })
})

describe("verifying a captured request", () => {
  it("needs no pipeline, for providers and plain modes alike", async () => {
    const sender = senders.find(({ provider }) => provider === "stripe")
    if (!sender) throw new Error("no sender")
    const { headers, body } = sender.send('{"id":"evt_1","type":"t"}', now)
    const args = { provider: "stripe", secret: sender.secret, request: { headers, body }, now }
    expect(await verifyCaptured(args)).to.deep.include({ ok: true, eventId: "evt_1", eventType: "t" })
    expect(causeOf(await verifyCaptured({ ...args, now: now + 400_000 }))).to.equal("timestamp_too_old")
    expect(
      causeOf(
        await verifyCaptured({
          provider: "shared_secret_header",
          secret: "s",
          request: { headers: { "X-Webhook-Secret": "s" }, body },
          now,
        }),
      ),
    ).to.equal("ok")
    expect(causeOf(await verifyCaptured({ provider: "hmac_sha256", secret: "s", request: { headers: {}, body }, now }))).to.equal(
      "missing_header",
    )
    const failure = await verifyCaptured({ ...args, provider: "strip" }).catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(AppError)
  })
})

describe("the provider table", () => {
  it("has one row a slug, documented for readers", () => {
    const facts = providerFacts()
    expect(facts.map(({ provider }) => provider)).to.include.members(["github", "stripe"])
    expect(new Set(facts.map(({ provider }) => provider)).size).to.equal(facts.length)
    for (const fact of facts) {
      expect(fact.name, fact.provider).not.to.equal("")
      if (fact.secret === "provided") expect(fact.secret_name, fact.provider).to.be.a("string")
    }
    expect(facts.find(({ provider }) => provider === "slack")).to.deep.include({
      proof: ["header x-slack-signature"],
      tolerance_s: 300,
      ack_timeout_s: 3,
      answers_handshake: true,
      covers_body: true,
    })
    expect(facts.filter(({ experimental }) => !experimental)).to.have.length(42)
  })
})

describe("the plugin", () => {
  it("registers the modes, after the plugins that it needs", () => {
    const modes: string[] = []
    const registrar = {
      provide: () => undefined,
      authModes: (...inputs: { mode: string }[]) => modes.push(...inputs.map(({ mode }) => mode)),
    }
    inboundAuth.register(registrar as unknown as Registrar, {})
    expect(modes).to.have.members([
      "hmac_sha256",
      "shared_secret_header",
      "timestamped_signature",
      "provider_signature",
      "authenticated_viewer",
      "public_artifact",
      "none",
    ])
    expect(inboundAuth.needs).to.deep.equal(["organizations", "pages"])
  })
})
