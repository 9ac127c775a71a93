// Vendors' deviations from the standards, as described in their apps' documents. Also the consent page of the service.
import { expect } from "chai"
import { Store } from "#core"
import { failureOf } from "../../../refusal.ts"
import { until } from "../../../waiting.ts"
import { collectionNamed } from "../../collection-named.ts"
import { Browser } from "./browser.ts"
import { json, type VendorServer } from "./vendor-server.ts"
import { startVendorService, type VendorService, vendorDocument } from "./vendor-service.ts"

describe("apps of vendors that deviate", () => {
  let service: VendorService
  let vendor: VendorServer
  before(async () => {
    service = await startVendorService((origin) => [
      vendorDocument("chat", origin, {
        scopes: ["chat:write"],
        bearer_types: ["bot"],
        invalid_grant_codes: ["invalid_code", "token_revoked"],
        revocation_auth: "token",
      }),
      { ...vendorDocument("notes", origin, { token_body: "json" }), headers: { "X-Version": "7" } },
    ])
    vendor = service.vendor
  })
  after(() => service.stop())
  beforeEach(() => {
    vendor.told = {}
    vendor.on.clear()
    vendor.asked.length = 0
  })

  it("takes a token type of the vendor's own as bearer, and has the token revoke itself", async () => {
    vendor.told = { ok: true, token_type: "bot" }
    const { status, integration_id } = await service.connect("chat")
    expect(status).to.equal("connected")
    await service.call(integration_id)
    const { authorization = "" } = vendor.at("/v3/contacts")[0] ?? {}
    expect(authorization).to.match(/^Bearer ACCESS-TOKEN/)
    const logged = service.host.logged.length
    vendor.on.set("/revoke", (_, response) => json(response, 200, { ok: false, error: "token_revoked" }))
    await service.host.api("DELETE", `/v1/integrations/${integration_id}`)
    await until("the revocation", () => vendor.at("/revoke").length === 1)
    expect(vendor.at("/revoke")[0]?.authorization).to.equal(authorization)
    expect([...(vendor.at("/revoke")[0]?.form.keys() ?? [])]).to.deep.equal([])
    expect(service.host.logged.slice(logged).join("\n")).not.to.match(/ACCESS-TOKEN|REFRESH-TOKEN/)
  })

  it("reads an error under 200, with a code of the vendor's own", async () => {
    vendor.on.set("/token", (_, response) => json(response, 200, { ok: false, error: "invalid_code" }))
    expect(await service.connect("chat")).to.include({ status: "failed", error: "invalid_grant" })
    vendor.on.clear()
    const { integration_id: id = "" } = await service.connect("chat")
    vendor.on.set("/token", (_, response) => json(response, 200, { ok: false, error: "token_revoked" }))
    service.host.clock.move(3_600_000)
    expect((await failureOf(service.call(id))).details).to.include({ reason: "oauth_expired" })
    expect(
      await service.host.get(Store).open(collectionNamed(service.host, "integration_oauth_grants"), service.host.organization.id).get(id),
    ).to.not.equal(undefined)
  })

  it("refuses other token types", async () => {
    vendor.told = { token_type: "mac" }
    expect(await service.connect("chat")).to.include({ status: "failed", error: "server_error" })
  })

  it("ignores an ID token, which it does not use", async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
    vendor.told = { id_token: `${part({ alg: "RS256" })}.${part({ iss: "https://accounts.example.com", aud: "other" })}.c2ln` }
    expect(await service.connect("chat")).to.include({ status: "connected" })
  })

  it("writes requests as JSON, with the API's headers where the server is part of it", async () => {
    expect(await service.connect("notes")).to.include({ status: "connected" })
    const [request] = vendor.at("/token")
    expect([request?.isJson, request?.form.get("grant_type"), request?.headers["x-version"]]).to.deep.equal([
      true,
      "authorization_code",
      "7",
    ])
  })

  it("says who asks for what before the browser goes on, on a page that runs and embeds nothing", async () => {
    const name = `Chat <script>alert("1")</script> & co`
    const { body } = await service.host.api<{ connect_url: string }>("POST", "/v1/integrations-connect", { app: "chat", name })
    const response = await fetch(body.connect_url, { redirect: "manual" })
    const text = await response.text()
    expect(response.status).to.equal(200)
    expect(vendor.asked).to.deep.equal([])
    const organization = await service.host.api<{ organization_name: string }>("POST", "/v1/integrations-connect", { app: "chat" })
    expect(text)
      .to.include(`<strong>${organization.body.organization_name}</strong>`)
      .and.include("<code>chat&#58;write</code>".replace("&#58;", ":"))
    expect(text).not.to.include("<script")
    expect(text).to.include("Chat &#60;script&#62;")
    const policy = response.headers.get("content-security-policy") ?? ""
    expect(policy).to.include("default-src 'none'").and.include("frame-ancestors 'none'").and.include("base-uri 'none'")
    expect(response.headers.get("cache-control")).to.equal("no-store")
    expect(response.headers.get("referrer-policy")).to.equal("no-referrer")
    expect(response.headers.getSetCookie()[0]).to.match(/^millrace_oauth_.*HttpOnly.*SameSite=Lax/)
    const browser = new Browser()
    expect(await service.connect("chat", "Once more", browser)).to.include({ status: "connected" })
    expect(browser.asked).to.have.length(1)
  })

  it("shows the page for a connection that is there alone", async () => {
    const { body } = await service.host.api<{ connect_url: string; integration_id: string }>("POST", "/v1/integrations-connect", {
      app: "chat",
    })
    await service.host.api("DELETE", `/v1/integrations/${body.integration_id}`)
    expect((await fetch(body.connect_url)).status).to.equal(400)
  })
})
