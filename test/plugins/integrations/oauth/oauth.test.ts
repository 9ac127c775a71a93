// Connecting by OAuth 2: the authorization code flow with a real authorization server, and invalid variants of it.
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { Browser } from "./browser.ts"
import { type OAuthService, returnUrl, startOAuth } from "./service.ts"

describe("integrations by OAuth 2", () => {
  let service: OAuthService
  before(async () => {
    service = await startOAuth()
  })
  after(() => service.stop())
  afterEach(() => {
    service.server.consents = true
  })

  it("connects by an authorization code with PKCE, and calls with the token", async () => {
    const attempt = await service.begin("Main")
    expect(attempt.status).to.equal("pending_authorization")
    const { browser, back } = await service.grant(attempt)
    const landed = await service.land(browser, back)
    const url = new URL(landed.url)
    expect(url.origin + url.pathname).to.equal(new URL(returnUrl).origin + new URL(returnUrl).pathname)
    expect(Object.fromEntries(url.searchParams)).to.deep.equal({ tab: "2", status: "connected", integration_id: attempt.integration_id })
    expect(await service.statusOf(attempt.integration_id)).to.equal("connected")
    expect((await service.call("main")).status).to.equal(200)
    const bound = browser.given.find((line) => line.startsWith("millrace_oauth_"))
    expect(bound)
      .to.match(/HttpOnly/)
      .and.to.match(/SameSite=Lax/)
  })

  it("asks with S256 and a state of 256 bits, and stores neither state, verifier, code nor token in clear", async () => {
    const attempt = await service.begin("Sealed")
    const browser = new Browser()
    const { url } = await browser.open(attempt.connect_url, (next) => next.startsWith(`${service.server.issuer}/auth`))
    const params = new URL(url).searchParams
    expect(params.get("code_challenge_method")).to.equal("S256")
    expect(Buffer.from(params.get("state") ?? "", "base64url")).to.have.lengthOf(32)
    const { back } = await service.grant(attempt, browser)
    const tokens: string[] = []
    service.server.provider.once("access_token.saved", ({ jti }) => void tokens.push(jti))
    service.server.provider.once("refresh_token.saved", ({ jti }) => void tokens.push(jti))
    await service.land(browser, back)
    expect(tokens).to.have.lengthOf(2)
    const parameters = new URL(back).searchParams
    const secrets = [...tokens, parameters.get("state"), parameters.get("code"), new URL(attempt.connect_url).searchParams.get("ticket")]
    const diskText = onDisk(service.host.dataDir)
    expect(diskText).to.include(attempt.integration_id)
    for (const secret of secrets) {
      expect(secret).to.be.a("string").with.length.above(20)
      expect(diskText).not.to.include(String(secret))
      expect(service.host.logged.join("\n")).not.to.include(String(secret))
    }
  })

  it("tells the return_url that consent was denied, and connects nothing", async () => {
    service.server.consents = false
    const attempt = await service.begin("Denied")
    const { browser, back } = await service.grant(attempt)
    const { url } = await service.land(browser, back)
    expect(new URL(url).searchParams.get("status")).to.equal("denied")
    expect(new URL(url).searchParams.get("error")).to.equal("access_denied")
    expect(await service.statusOf(attempt.integration_id)).to.equal("pending_authorization")
  })

  it("leads to the connection in the console without a return_url", async () => {
    const attempt = await service.begin("Paged", { return_url: "" })
    const { browser, back } = await service.grant(attempt)
    const { url, status, text } = await service.land(browser, back)
    const query = `status=connected&integration_id=${attempt.integration_id}`
    expect(url).to.equal(`${service.host.url}/console/integrations/${attempt.integration_id}?${query}`)
    expect([status, text]).to.satisfy(([code, page]: [number, string]) => code === 200 && page.includes("console-assets"))
  })

  it("refuses a state that was used, without asking the authorization server", async () => {
    const { browser, back } = await service.grant(await service.begin("Replayed"))
    await service.land(browser, back)
    const requestCount = service.server.asked.length
    expect(await service.land(browser, back)).to.include({ status: 400 })
    expect(service.server.asked).to.have.lengthOf(requestCount)
  })

  it("lets one of two callbacks with one state through", async () => {
    const { browser, back } = await service.grant(await service.begin("Twice"))
    const requestCount = service.server.asked.length
    const views = await Promise.all([service.land(browser, back), service.land(browser, back)])
    expect(views.map(({ status }) => status).sort()).to.deep.equal([303, 400])
    expect(service.server.asked).to.have.lengthOf(requestCount + 1)
  })

  it("refuses a state in another browser, which leaves it to its own", async () => {
    const attempt = await service.begin("Other browser")
    const { browser, back } = await service.grant(attempt)
    expect(await service.land(new Browser(), back)).to.include({ status: 400 })
    expect(await service.statusOf(attempt.integration_id)).to.equal("pending_authorization")
    await service.land(browser, back)
    expect(await service.statusOf(attempt.integration_id)).to.equal("connected")
  })

  it("refuses a response of another issuer, and one that names none", async () => {
    for (const change of ["https://evil.example.com", undefined]) {
      const attempt = await service.begin("Mixed up")
      const { browser, back } = await service.grant(attempt)
      const forged = new URL(back)
      expect(forged.searchParams.get("iss")).to.equal(service.server.issuer)
      if (change === undefined) forged.searchParams.delete("iss")
      else forged.searchParams.set("iss", change)
      const requestCount = service.server.asked.length
      const { url } = await service.land(browser, forged.href)
      expect(new URL(url).searchParams.get("status")).to.equal("failed")
      expect(service.server.asked, "the code was not sent anywhere").to.have.lengthOf(requestCount)
      expect(await service.statusOf(attempt.integration_id)).to.equal("pending_authorization")
    }
  })

  it("connects nothing by a code that was used before", async () => {
    const first = await service.grant(await service.begin("First use"))
    await service.land(first.browser, first.back)
    const attempt = await service.begin("Second use")
    const { browser, back } = await service.grant(attempt)
    const forged = new URL(back)
    forged.searchParams.set("code", new URL(first.back).searchParams.get("code") ?? "")
    const { url } = await service.land(browser, forged.href)
    expect(new URL(url).searchParams.get("error")).to.equal("invalid_grant")
    expect(await service.statusOf(attempt.integration_id)).to.equal("pending_authorization")
  })

  it("refuses connect_url and callback after ten minutes", async () => {
    const attempt = await service.begin("Late")
    const { browser, back } = await service.grant(attempt)
    service.host.clock.move(600_001)
    expect(await service.land(browser, back)).to.include({ status: 400 })
    expect(await browser.open(attempt.connect_url)).to.include({ status: 400 })
    expect(await browser.open(`${service.host.url}/v1/integrations/oauth/authorize?ticket=unknown`)).to.include({ status: 400 })
  })

  it("answers that the authorization server is down, to be retried", async () => {
    const attempt = await service.begin("Down")
    const { browser, back } = await service.grant(attempt)
    service.server.fails = 503
    const { url } = await service.land(browser, back)
    service.server.fails = undefined
    expect(new URL(url).searchParams.get("status")).to.equal("failed")
    const again = await service.grant(attempt)
    await service.land(again.browser, again.back)
    expect(await service.statusOf(attempt.integration_id)).to.equal("connected")
  })
})

/** Returns all stored data of the service as text. */
function onDisk(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, "latin1"))
    .join("\n")
}
