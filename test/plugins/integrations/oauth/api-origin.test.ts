// Vendors that tell where an account's API is: by the token response or at an address of theirs, within the hosts that
// the app's document names.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { AppDocument } from "../../../../plugins/integrations/apps/document.ts"
import { Integrations } from "../../../../plugins/integrations/index.ts"
import { until } from "../../../waiting.ts"
import { Browser } from "./browser.ts"
import { json, startVendorServer, type VendorServer, vendorClient } from "./vendor-server.ts"

const returnUrl = "https://app.example.com/done"

describe("apps whose authorization tells where the API is", () => {
  let vendor: VendorServer
  let api: VendorServer
  let host: TestHost
  let folder: string
  before(async () => {
    vendor = await startVendorServer()
    api = await startVendorServer()
    folder = mkdtempSync(join(tmpdir(), "millrace-apps-"))
    for (const slug of ["told", "asked"]) writeFileSync(join(folder, `${slug}.json`), JSON.stringify(documentOf(slug, vendor.origin)))
    const settings = { integrations: { app_folders: [folder], oauth_clients: { told: vendorClient, asked: vendorClient } } }
    host = await testHost({
      capture: false,
      env: {
        MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings),
        MILLRACE_OUTGOING_ALLOW_HOSTS: [vendor, api].map(({ origin }) => new URL(origin).host).join(","),
      },
    })
  })
  after(async () => {
    await host.stop()
    await vendor.close()
    await api.close()
    rmSync(folder, { recursive: true })
  })
  beforeEach(() => {
    vendor.told = {}
    vendor.on.clear()
    vendor.asked.length = 0
    api.asked.length = 0
  })

  /** Connects; the parameters that its return_url was given. */
  async function connect(app: string): Promise<Record<string, string>> {
    const input = { app, share_with_org: true, return_url: returnUrl }
    const { body } = await host.api<{ connect_url: string }>("POST", "/v1/integrations-connect", input)
    const { url } = await new Browser().open(body.connect_url, (next) => next.startsWith(returnUrl))
    return Object.fromEntries(new URL(url).searchParams)
  }
  const call = (ref = "") => host.get(Integrations).call(host.organization.id, ref, { method: "GET", path: "/contacts" })

  it("calls the host that the token response names, with the path of base_url", async () => {
    vendor.told = { instance_url: `${api.origin}/ignored?x=1` }
    const { status, integration_id } = await connect("told")
    expect(status).to.equal("connected")
    expect((await call(integration_id)).status).to.equal(200)
    expect(api.asked.map(({ path }) => path)).to.deep.equal(["/v3/contacts"])
    expect(api.asked[0]?.authorization).to.match(/^Bearer ACCESS-TOKEN/)
    expect(vendor.at("/v3/contacts")).to.deep.equal([])
  })

  it("asks the address that the document names, with the token sent as it says", async () => {
    vendor.on.set("/metadata", (_, response) => json(response, 200, { dc: "us21", api_endpoint: api.origin }))
    const { status, integration_id } = await connect("asked")
    expect(status).to.equal("connected")
    expect(vendor.at("/metadata")[0]?.authorization).to.match(/^OAuth ACCESS-TOKEN/)
    expect((await call(integration_id)).status).to.equal(200)
    expect(api.asked).to.have.length(1)
  })

  it("follows a refresh that names another allowed host, and keeps the one before where it names a foreign one", async () => {
    vendor.told = { instance_url: vendor.origin }
    const { integration_id } = await connect("told")
    for (const [told, at] of [
      [api.origin, api],
      ["https://evil.example.com", api],
      [undefined, api],
    ] as const) {
      vendor.told = { instance_url: told }
      host.clock.move(3_600_000)
      api.asked.length = 0
      expect((await call(integration_id)).status).to.equal(200)
      expect(at.asked).to.have.length(1)
    }
    expect(vendor.at("/token")).to.have.length(4)
  })

  const foreign: [string, unknown][] = [
    ["another host", "https://evil.example.com"],
    ["a host that ends alike", "http://127.0.0.1.evil.example.com"],
    ["a user name before a host", "https://127.0.0.1@evil.example.com"],
    ["an address of the platform", "http://169.254.169.254"],
    ["no text", 7],
    ["nothing", undefined],
  ]
  for (const [what, told] of foreign) {
    it(`connects nothing where the token response names ${what}, and revokes the tokens`, async () => {
      vendor.told = { instance_url: told }
      const { status, error, integration_id } = await connect("told")
      expect([status, error]).to.deep.equal(["failed", "server_error"])
      const read = await host.api<{ status: string }>("GET", `/v1/integrations/${integration_id}`)
      expect(read.body.status).to.equal("pending_authorization")
      await until("the revocation", () => vendor.at("/revoke").length === 2)
      expect(vendor.at("/revoke").map(({ form }) => form.get("token")?.slice(0, 7))).to.deep.equal(["REFRESH", "ACCESS-"])
      expect(api.asked).to.deep.equal([])
    })
  }

  const broken: [string, (response: Parameters<typeof json>[0]) => unknown][] = [
    ["is down", (response) => json(response, 503, {})],
    ["refuses", (response) => json(response, 401, {})],
    ["is malformed", (response) => response.writeHead(200, { "content-type": "application/json" }).end('{"api_endpoint":')],
    ["is huge", (response) => json(response, 200, { api_endpoint: api.origin, more: "x".repeat(100_000) })],
    ["closes in the middle", (response) => void response.writeHead(200, { "content-length": "99" }).write("{", () => response.destroy())],
    ["sends elsewhere", (response) => response.writeHead(302, { location: `${api.origin}/metadata` }).end()],
  ]
  for (const [what, how] of broken) {
    it(`connects nothing where the address that tells it ${what}`, async () => {
      vendor.on.set("/metadata", (_, response) => void how(response))
      expect(await connect("asked")).to.include({ status: "failed", error: "server_error" })
      await until("the revocation", () => vendor.at("/revoke").length === 2)
      expect(api.asked).to.deep.equal([])
      expect(host.logged.join("\n")).not.to.match(/ACCESS-TOKEN|REFRESH-TOKEN|CLIENT-SECRET/)
    })
  }

  it("takes no document that allows hosts of many owners, or that leaves a parameter open", () => {
    const refusals = (change: (document: ReturnType<typeof documentOf>) => object) =>
      AppDocument.safeParse(change(documentOf("told", vendor.origin))).error?.issues.map(({ path }) => path.join("."))
    const withHosts = (hosts: string[]) =>
      refusals((document) => ({
        ...document,
        auth: { oauth2: { ...document.auth.oauth2, origin_from: { field: "instance_url", hosts } } },
      }))
    for (const wide of ["com", "co.uk", "github.io", ".example.com", "*.example.com", "10.0.0.1"]) {
      expect(withHosts([wide]), wide).to.deep.equal(["auth.oauth2.origin_from.hosts.0"])
    }
    expect(withHosts(["api.example.com"])).to.equal(undefined)
    expect(refusals((document) => ({ ...document, base_url: "https://api.vendor.test/{domain}" }))).to.deep.equal(["base_url"])
    expect(refusals((document) => ({ ...document, auth: { oauth2: { ...document.auth.oauth2, origin_from: undefined } } }))).to.deep.equal([
      "auth.oauth2",
    ])
  })
})

function documentOf(slug: string, origin: string) {
  const origin_from =
    slug === "told"
      ? { field: "instance_url", hosts: ["127.0.0.1"] }
      : {
          url: `${origin}/metadata`,
          field: "api_endpoint",
          hosts: ["127.0.0.1"],
          authorise: { in: "header", name: "Authorization", prefix: "OAuth " },
        }
  const urls = { authorization_url: `${origin}/authorize`, token_url: `${origin}/token`, revocation_url: `${origin}/revoke` }
  return {
    slug,
    name: slug,
    summary: "A vendor that tells where its API is.",
    docs_url: "https://docs.vendor.test/",
    base_url: "https://{domain}.api.vendor.test/v3",
    parameters: { domain: "The account's domain." },
    auth: { oauth2: { ...urls, origin_from } },
    test: { path: "/me" },
  }
}
