// Viewer tokens: their claims, their expiry, and protection against forgery.
import { expect } from "chai"
import { generateKeyPair, SignJWT } from "jose"
import identity from "../../../plugins/platform/identity/index.ts"
import organizations, { Bootstrap, Organizations, ViewerSessions } from "../../../plugins/platform/organizations/index.ts"
import { refusalOf } from "../../refusal.ts"
import { ServiceUnderTest } from "../unit-of-work.ts"

const page = "0190a000-0000-7000-8000-000000000abc"

describe("viewer sessions", () => {
  let service: ServiceUnderTest
  let organization_id: string

  before(async () => {
    service = await new ServiceUnderTest([identity, organizations]).start()
    service.key = service.get(Bootstrap).adminKey ?? undefined
    organization_id = (await service.get(Organizations).first()).id
  })
  after(() => service.remove())
  afterEach(() => {
    service.ahead = 0
  })
  const mint = (input: object = {}) => service.call<{ token: string; expires_at: string }>("viewer_sessions.create", input)
  /** Returns the claims without the creator's membership. */
  const verify = async (token: string) => {
    const { member: _, ...claims } = { member: undefined, ...(await service.get(ViewerSessions).verify(token)) }
    return claims
  }

  it("say the organization, and page, visitor and variant where they were given", async () => {
    expect(await verify((await mint()).token)).to.deep.equal({ organization_id })
    const claims = { artifact_id: page, visitor_id: "v-1", variant: "b" }
    const { token } = await mint(claims)
    expect(await verify(token)).to.deep.equal({ organization_id, ...claims })
    expect(await verify(token)).to.deep.equal({ organization_id, ...claims })
  })

  it("end after an hour, or when asked to, also once they were verified", async () => {
    const before = Date.now()
    const { token, expires_at } = await mint()
    // In whole seconds.
    expect(Date.parse(expires_at) - 3_600_000).to.be.within(before - 1_000, Date.now())
    expect(await verify(token)).to.have.property("organization_id")
    const short = await mint({ ttl_s: 10 })
    service.ahead = 11_000
    expect(await verify(short.token)).to.deep.equal({ error: "expired" })
    expect(await verify(token)).to.have.property("organization_id")
    service.ahead = 3_601_000
    expect(await verify(token)).to.deep.equal({ error: "expired" })
  })

  it("are invalid when changed, signed by another key, unsigned, or no token at all", async () => {
    const { token } = await mint()
    const [head = "", body = "", signature = ""] = token.split(".")
    const other = Buffer.from(
      JSON.stringify({ ...JSON.parse(Buffer.from(body, "base64url").toString()), organization_id: "other" }),
    ).toString("base64url")
    const none = Buffer.from('{"alg":"none"}').toString("base64url")
    const { privateKey } = await generateKeyPair("EdDSA")
    const forged = await new SignJWT({ organization_id, jti: "x" })
      .setProtectedHeader({ alg: "EdDSA" })
      .setIssuer("millrace")
      .setAudience("viewer")
      .setExpirationTime("1h")
      .sign(privateKey)
    for (const wrong of [`${head}.${other}.${signature}`, `${none}.${body}.`, forged, "", "a.b.c", token.slice(0, -2), service.key ?? ""]) {
      expect(await verify(wrong), wrong).to.deep.equal({ error: "invalid" })
    }
  })

  it("hold over a restart: the signing key is made once, and lies sealed", async () => {
    const own = await new ServiceUnderTest([identity, organizations]).start()
    try {
      own.key = own.get(Bootstrap).adminKey ?? undefined
      const { token } = await own.call<{ token: string }>("viewer_sessions.create", {})
      const claims = await own.get(ViewerSessions).verify(token)
      await own.stop()
      const again = await new ServiceUnderTest([identity, organizations], own).start()
      expect(await again.get(ViewerSessions).verify(token)).to.deep.equal(claims)
      await again.stop()
      expect(await verify(token)).to.deep.equal({ error: "invalid" })
    } finally {
      await own.remove()
    }
  })

  it("are minted once for all who ask at the same time first", async () => {
    const own = await new ServiceUnderTest([identity, organizations]).start()
    try {
      const sessions = own.get(ViewerSessions)
      const minted = await Promise.all(Array.from({ length: 5 }, () => sessions.mint({ organization_id: "o" }, 60)))
      for (const { token } of minted) expect(await sessions.verify(token)).to.deep.equal({ organization_id: "o" })
    } finally {
      await own.remove()
    }
  })

  it("are refused for more than a week, and to tokens without pages:write", async () => {
    expect((await refusalOf(mint({ ttl_s: 8 * 86_400 }))).code).to.equal("invalid_argument")
    expect((await refusalOf(mint({ artifact_id: "home" }))).code).to.equal("invalid_argument")
    const { secret } = await service.call<{ secret: string }>("api_keys.create", { name: "T", kind: "token", scopes: ["pages:read"] })
    const error = await refusalOf(service.call("viewer_sessions.create", {}, { key: secret }))
    expect(error.details.reason).to.equal("missing_scope")
  })
})
