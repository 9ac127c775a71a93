// The auth modes: their configuration, their secret, and accepted requests.
import { createHmac } from "node:crypto"
import { expect } from "chai"
import type { InboundRequest, Verdict } from "#core"
import { AuthModes } from "../../../core/contract/auth-mode.ts"
import inboundAuth from "../../../plugins/inbound-auth/index.ts"
import { declaredBy } from "../declared-by.ts"
import { causeOf, inbound, now, secretsOf } from "./requests.ts"

const declared = declaredBy(inboundAuth)
const modeOf = (name: string) => declared.get(AuthModes, name) ?? expect.fail(`no mode ${name}`)
const [hmacSha256, timestampedSignature] = [modeOf("hmac_sha256"), modeOf("timestamped_signature")]
const [authenticatedViewer, noAuth] = [modeOf("authenticated_viewer"), modeOf("none")]
const sharedSecretHeader = modeOf("shared_secret_header")

const pipeline = { id: "p", organization_id: "org-1", owner_artifact_id: "page-1" as string | null }
const generated = `whsec_${Buffer.alloc(32, 7).toString("base64")}`
const mac = (text: string, encoding: "hex" | "base64" = "hex") =>
  createHmac("sha256", Buffer.from(generated, "utf8")).update(text).digest(encoding)

describe("hmac_sha256", () => {
  const verifierOf = (config: object = {}, ...secrets: string[]) =>
    hmacSha256.prepare({ config: hmacSha256.config.parse(config), secrets: secretsOf(...secrets), pipeline, deps: {} })
  const judge = async (config: object, headers: Record<string, string>, body = "{}") =>
    causeOf(await verifierOf(config, generated).verify(inbound({ body, headers })))

  it("keys with the whole generated secret, prefix included", async () => {
    expect(hmacSha256.secret(hmacSha256.config.parse({}))).to.equal("generated")
    expect(await judge({}, { "x-signature-256": `sha256=${mac("{}")}` })).to.equal("ok")
    const decoded = createHmac("sha256", Buffer.alloc(32, 7)).update("{}").digest("hex")
    const verdict = await verifierOf({}, generated).verify(inbound({ body: "{}", headers: { "x-signature-256": `sha256=${decoded}` } }))
    expect(verdict).to.include({ ok: false, cause: "wrong_secret" })
    expect(verdict.ok ? "" : verdict.message).to.include("base64-decoded after its prefix")
  })

  it("renames the header and chooses base64, the prefix staying", async () => {
    expect(await judge({ header: "X-Acme", encoding: "base64" }, { "x-acme": `sha256=${mac("{}", "base64")}` })).to.equal("ok")
    expect(await judge({ header: "X-Acme" }, { "x-signature-256": `sha256=${mac("{}")}` })).to.equal("missing_header")
    expect(() => hmacSha256.config.parse({ header: "Content-Type" })).to.throw("is reserved")
    expect(() => hmacSha256.config.parse({ heading: "x" })).to.throw()
  })

  it("with require_timestamp signs the time and holds the window", async () => {
    const at = Math.floor(now / 1_000)
    const signedAt = (time: number | string) => ({
      "x-signature-timestamp": String(time),
      "x-signature-256": `sha256=${mac(`${time}.{}`)}`,
    })
    expect(await judge({ require_timestamp: true }, signedAt(at))).to.equal("ok")
    expect(await judge({ require_timestamp: true }, signedAt(at - 302))).to.equal("timestamp_too_old")
    expect(await judge({ require_timestamp: true }, signedAt(at + 302))).to.equal("timestamp_in_future")
    expect(await judge({ require_timestamp: true, tolerance_s: 600 }, signedAt(at - 302))).to.equal("ok")
    expect(await judge({ require_timestamp: true }, signedAt("tomorrow"))).to.equal("timestamp_malformed")
    expect(await judge({ require_timestamp: true }, { "x-signature-256": `sha256=${mac("{}")}` })).to.equal("timestamp_missing")
    expect(await judge({ require_timestamp: true }, { ...signedAt(at), "x-signature-timestamp": String(at + 1) })).to.equal("wrong_secret")
    expect(await judge({}, { ...signedAt(at), "x-signature-256": `sha256=${mac("{}")}` }), "an unsigned time is not read").to.equal("ok")
  })

  it("any live secret verifies and is named; none or an empty one refuses", async () => {
    const request = inbound({ body: "{}", headers: { "x-signature-256": `sha256=${mac("{}")}` } })
    expect(await verifierOf({}, "old", generated).verify(request)).to.deep.equal({
      ok: true,
      secretId: "secret-2",
      proof: { headers: ["x-signature-256"] },
    })
    expect(causeOf(await verifierOf().verify(request))).to.equal("no_secret")
    const empty = createHmac("sha256", "").update("{}").digest("hex")
    expect(causeOf(await verifierOf({}, "").verify(inbound({ body: "{}", headers: { "x-signature-256": `sha256=${empty}` } })))).to.equal(
      "no_secret",
    )
  })

  it("refuses secrets that can only be mistakes", () => {
    for (const secret of [
      "",
      "x",
      "fifteen-letters",
      " with-space-before",
      "with-line-break\n",
      "\0".repeat(32),
      `a-long-secret-${"\u0007"}-bell`,
    ])
      expect(() => hmacSha256.checkSecret?.(secret, hmacSha256.config.parse({})), JSON.stringify(secret)).to.throw()
    expect(() => hmacSha256.checkSecret?.("It's fine as it is", hmacSha256.config.parse({}))).not.to.throw()
  })
})

describe("timestamped_signature", () => {
  const secret = "whsec_of-a-sender-of-our-own"
  const verifierOf = (config: object) =>
    timestampedSignature.prepare({ config: timestampedSignature.config.parse(config), secrets: secretsOf(secret), pipeline, deps: {} })
  const now = 1_768_469_400_000
  const mac = (text: string, encoding: "hex" | "base64" = "hex") => createHmac("sha256", secret).update(text).digest(encoding)
  const request = (name: string, value: string, body = '{"a":1}') => ({ ...inbound({ body, headers: { [name]: value } }), receivedAt: now })

  it("reads time and signatures from one header, written as the pattern says", async () => {
    const plain = verifierOf({ header: "Acme-Signature" })
    const time = String(now / 1_000)
    const good = mac(`${time}.{"a":1}`)
    expect(causeOf(await plain.verify(request("acme-signature", `t=${time},v1=${good}`)))).to.equal("ok")
    expect(causeOf(await plain.verify(request("acme-signature", `t=${time},v0=old,v1=${"0".repeat(64)},v1=${good}`)))).to.equal("ok")
    expect(causeOf(await plain.verify(request("acme-signature", `t=${time},v1=${good}`, '{"a":2}')))).to.equal("wrong_secret")
    const late = String(now / 1_000 - 301)
    expect(causeOf(await plain.verify(request("acme-signature", `t=${late},v1=${mac(`${late}.{"a":1}`)}`)))).to.equal("timestamp_too_old")
    expect(causeOf(await plain.verify(request("acme-signature", `v1=${good}`)))).to.equal("timestamp_missing")
    const other = verifierOf({
      header: "X-Proof",
      pattern: "sig={signature};ts={timestamp}",
      signed: "{timestamp}:{body}",
      unit: "ms",
      encoding: "base64",
    })
    expect(causeOf(await other.verify(request("x-proof", `sig=${mac(`${now}:{"a":1}`, "base64")};ts=${now}`)))).to.equal("ok")
    expect(plain.coversBody).to.equal(true)
  })

  it("signs as it verifies, and refuses other patterns", async () => {
    for (const input of [{ header: "Acme-Signature" }, { header: "X-Proof", pattern: "s={signature} at={timestamp}", unit: "ms" }]) {
      const config = timestampedSignature.config.parse(input)
      const unsigned = request("content-type", "application/json")
      const { headers = {} } = (await timestampedSignature.sign?.({ config, secret, request: unsigned, pipeline, deps: {} })) ?? {}
      expect(causeOf(await verifierOf(input).verify({ ...unsigned, headers: { ...unsigned.headers, ...headers } }))).to.equal("ok")
    }
    for (const pattern of ["{signature}", "t={timestamp}", "t={timestamp}v1={signature}", "a b={timestamp},v1={signature}"])
      expect(() => timestampedSignature.config.parse({ header: "X-Proof", pattern }), pattern).to.throw(/t=\{timestamp\}/)
  })
})

describe("shared_secret_header", () => {
  const verifier = (config: object = {}) =>
    sharedSecretHeader.prepare({
      config: sharedSecretHeader.config.parse(config),
      secrets: secretsOf("old", "geheim-ü"),
      pipeline,
      deps: {},
    })

  it("compares the whole secret, as text or as the bytes of a header", async () => {
    expect(await verifier().verify(inbound({ headers: { "x-webhook-secret": "geheim-ü" } }))).to.deep.equal({
      ok: true,
      secretId: "secret-2",
      proof: { headers: ["x-webhook-secret"] },
    })
    const asBytes = Buffer.from("geheim-ü").toString("latin1")
    expect(causeOf(await verifier().verify(inbound({ headers: { "x-webhook-secret": asBytes } })))).to.equal("ok")
    for (const wrong of ["geheim-", "geheim-üx", "GEHEIM-ü", " old"])
      expect(causeOf(await verifier().verify(inbound({ headers: { "x-webhook-secret": wrong } }))), wrong).to.equal("wrong_secret")
    expect(causeOf(await verifier().verify(inbound({ headers: { "x-webhook-secret": "" } })))).to.equal("missing_header")
    expect(causeOf(await verifier({ header: "X-Key" }).verify(inbound({ headers: { "x-webhook-secret": "old" } })))).to.equal(
      "missing_header",
    )
    expect(causeOf(await verifier().verify(inbound({ headers: { "x-webhook-secret": ["old", "geheim-ü"] } })))).to.equal("duplicate_header")
    expect(verifier().coversBody).to.equal(false)
  })
})

describe("authenticated_viewer", () => {
  const sessions = {
    mint: () => Promise.reject(new Error("not asked for here")),
    verify: async (text: string) => {
      if (text === "broken") throw new Error("storage is down")
      if (text === "expired" || text === "invalid") return { error: text } as const
      return JSON.parse(Buffer.from(text, "base64url").toString())
    },
  }
  const tokenFor = (claims: object) => Buffer.from(JSON.stringify(claims)).toString("base64url")
  const judge = (headers: Record<string, string>, audience = "viewers", at: Partial<typeof pipeline> = {}) =>
    authenticatedViewer
      .prepare({
        config: authenticatedViewer.config.parse({ audience }),
        secrets: [],
        pipeline: { ...pipeline, ...at },
        deps: { sessions },
      })
      .verify(inbound({ headers, body: '{"_envelope":{"artifact_id":"page-2"}}' }))
  const viewer = tokenFor({ organization_id: "org-1", artifact_id: "page-1", visitor_id: "v", variant: "b" })

  it("takes the token from Authorization or the cookie, and yields its claims", async () => {
    const claims = { artifact_id: "page-1", visitor_id: "v", variant: "b" }
    expect(await judge({ authorization: `Bearer ${viewer}` })).to.deep.equal({ ok: true, proof: { headers: ["authorization"] }, claims })
    expect(await judge({ cookie: `a=b; mr_viewer=${viewer}; c=d` })).to.deep.equal({ ok: true, proof: { headers: ["cookie"] }, claims })
    expect(causeOf(await judge({ cookie: `mr_viewer=${viewer}; mr_viewer=other` }))).to.equal("duplicate_header")
    expect(causeOf(await judge({ cookie: `xmr_viewer=${viewer}` }))).to.equal("missing_token")
  })

  it("is for viewers only unless the audience says otherwise", async () => {
    expect(causeOf(await judge({}))).to.equal("missing_token")
    expect(await judge({}, "public_and_viewers")).to.deep.equal({ ok: true })
    expect(authenticatedViewer.config.parse({})).to.deep.equal({ audience: "viewers" })
    expect(() => authenticatedViewer.config.parse({ audience: "everyone" })).to.throw()
  })

  it("refuses a bad token for every audience", async () => {
    for (const audience of ["viewers", "public_and_viewers"]) {
      expect(causeOf(await judge({ authorization: "Bearer expired" }, audience))).to.equal("expired_token")
      expect(causeOf(await judge({ authorization: "Bearer invalid" }, audience))).to.equal("invalid_token")
      expect(causeOf(await judge({ cookie: "mr_viewer=invalid" }, audience))).to.equal("invalid_token")
      expect(causeOf(await judge({ authorization: `Bearer ${tokenFor({ organization_id: "org-2" })}` }, audience))).to.equal(
        "wrong_audience",
      )
      expect(
        causeOf(await judge({ authorization: `Bearer ${tokenFor({ organization_id: "org-1", artifact_id: "page-2" })}` }, audience)),
      ).to.equal("wrong_artifact")
      expect(causeOf(await judge({ authorization: "Bearer broken" }, audience))).to.equal("verifier_error")
    }
  })

  it("a token for the organization serves any of its pages", async () => {
    expect(await judge({ authorization: `Bearer ${tokenFor({ organization_id: "org-1" })}` })).to.deep.include({ ok: true, claims: {} })
    expect(causeOf(await judge({ authorization: `Bearer ${viewer}` }, "viewers", { owner_artifact_id: null }))).to.equal("ok")
  })
})

describe("public_artifact", () => {
  const published = new Set(["org-1/page-1"])
  const mode = modeOf("public_artifact")
  const pages = { published: async (organization: string, artifact: string) => published.has(`${organization}/${artifact}`) }
  const judge = async (body: string, headers: Record<string, string> = {}, at: Partial<typeof pipeline> = {}) =>
    causeOf(
      await mode.prepare({ config: {}, secrets: [], pipeline: { ...pipeline, ...at }, deps: { pages } }).verify(inbound({ body, headers })),
    )

  it("lets anyone pass who names the pipeline's published page", async () => {
    expect(await judge('{"_envelope":{"artifact_id":"page-1"}}')).to.equal("ok")
    expect(await judge('{"_envelope":{"artifact_id":"page-1"}}', { "content-type": "text/plain" })).to.equal("ok")
    expect(await judge("_envelope.artifact_id=page-1&a=b", { "content-type": "application/x-www-form-urlencoded" })).to.equal("ok")
    const multipart = '--x\r\nContent-Disposition: form-data; name="_envelope.artifact_id"\r\n\r\npage-1\r\n--x--\r\n'
    expect(await judge(multipart, { "content-type": "multipart/form-data; boundary=x" })).to.equal("ok")
  })

  it("refuses another page, none, an unpublished one, and a pipeline without one", async () => {
    for (const body of [
      '{"_envelope":{"artifact_id":"page-2"}}',
      "{}",
      "[]",
      "not json",
      "",
      '{"_envelope":{"artifact_id":["page-1","page-2"]}}',
    ])
      expect(await judge(body), body).to.equal("wrong_artifact")
    expect(
      await judge("_envelope.artifact_id=page-1&_envelope.artifact_id=page-2", { "content-type": "application/x-www-form-urlencoded" }),
    ).to.equal("wrong_artifact")
    expect(await judge('{"_envelope":{"artifact_id":"page-1"}}', {}, { organization_id: "org-2" })).to.equal("unpublished_artifact")
    expect(await judge('{"_envelope":{"artifact_id":"page-1"}}', {}, { owner_artifact_id: null })).to.equal("wrong_artifact")
  })
})

describe("none", () => {
  it("lets everything pass and has no secret", async () => {
    const verifier = noAuth.prepare({ config: {}, secrets: [], pipeline, deps: {} })
    const verdict: Verdict = await verifier.verify(inbound({}) satisfies InboundRequest)
    expect(verdict).to.deep.equal({ ok: true })
    expect(noAuth.secret({})).to.equal("none")
    expect(verifier.coversBody).to.equal(false)
  })
})
