// Vendors that announce the API of an account, in the token response or at one of their addresses, within the hosts of the app's
// document.
import { expect } from "chai"
import { until } from "../../../waiting.ts"
import { json, startVendorServer, type VendorServer } from "./vendor-server.ts"
import { startVendorService, type VendorService, vendorDocument } from "./vendor-service.ts"

interface Refused {
  readonly fields: readonly { readonly path: string }[]
}

describe("apps whose authorization tells where the API is", () => {
  let service: VendorService
  let vendor: VendorServer
  let api: VendorServer
  before(async () => {
    api = await startVendorServer()
    service = await startVendorService((origin) => ["told", "asked"].map((slug) => documentOf(slug, origin)), { also: [api] })
    vendor = service.vendor
  })
  after(async () => {
    await service.stop()
    await api.close()
  })
  beforeEach(() => {
    vendor.told = {}
    vendor.on.clear()
    vendor.asked.length = 0
    api.asked.length = 0
  })

  it("calls the host that the token response names, with the path of base_url", async () => {
    vendor.told = { instance_url: `${api.origin}/ignored?x=1` }
    const { status, integration_id } = await service.connect("told")
    expect(status).to.equal("connected")
    expect((await service.call(integration_id)).status).to.equal(200)
    expect(api.asked.map(({ path }) => path)).to.deep.equal(["/v3/contacts"])
    expect(api.asked[0]?.authorization).to.match(/^Bearer ACCESS-TOKEN/)
    expect(vendor.at("/v3/contacts")).to.deep.equal([])
  })

  it("asks the address that the document names, with the token sent as it says", async () => {
    vendor.on.set("/metadata", (_, response) => json(response, 200, { dc: "us21", api_endpoint: api.origin }))
    const { status, integration_id } = await service.connect("asked")
    expect(status).to.equal("connected")
    expect(vendor.at("/metadata")[0]?.authorization).to.match(/^OAuth ACCESS-TOKEN/)
    expect((await service.call(integration_id)).status).to.equal(200)
    expect(api.asked).to.have.length(1)
  })

  it("follows a refresh that names another allowed host, and keeps the one before where it names a foreign one", async () => {
    vendor.told = { instance_url: vendor.origin }
    const { integration_id } = await service.connect("told")
    for (const [told, at] of [
      [api.origin, api],
      ["https://evil.example.com", api],
      [undefined, api],
    ] as const) {
      vendor.told = { instance_url: told }
      service.host.clock.move(3_600_000)
      api.asked.length = 0
      expect((await service.call(integration_id)).status).to.equal(200)
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
  for (const [what, origin] of foreign) {
    it(`connects nothing where the token response names ${what}, and revokes the tokens`, async () => {
      vendor.told = { instance_url: origin }
      const { status, error, integration_id } = await service.connect("told")
      expect([status, error]).to.deep.equal(["failed", "server_error"])
      expect(await service.statusOf(integration_id)).to.equal("pending_authorization")
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
      expect(await service.connect("asked")).to.include({ status: "failed", error: "server_error" })
      await until("the revocation", () => vendor.at("/revoke").length === 2)
      expect(api.asked).to.deep.equal([])
      expect(service.host.logged.join("\n")).not.to.match(/ACCESS-TOKEN|REFRESH-TOKEN|CLIENT-SECRET/)
    })
  }

  it("takes no document that allows hosts of many owners, or that leaves a parameter open", async () => {
    const refusals = async (change: (document: ReturnType<typeof documentOf>) => object) => {
      const document = { ...change(documentOf("told", vendor.origin)), slug: "own" }
      const { body } = await service.host.api<{ details?: Refused }>("POST", "/v1/integration-apps", { document })
      return body.details?.fields.map(({ path }) => path.replace("document.", ""))
    }
    const withHosts = (hosts: string[]) =>
      refusals((document) => ({
        ...document,
        auth: { oauth2: { ...document.auth.oauth2, origin_from: { field: "instance_url", hosts } } },
      }))
    for (const wide of ["com", "co.uk", "github.io", ".example.com", "*.example.com", "10.0.0.1"]) {
      expect(await withHosts([wide]), wide).to.deep.equal(["auth.oauth2.origin_from.hosts.0"])
    }
    expect(await withHosts(["api.example.com"])).to.equal(undefined)
    expect(await refusals((document) => ({ ...document, base_url: "https://api.vendor.test/{domain}" }))).to.deep.equal(["base_url"])
    expect(
      await refusals((document) => ({ ...document, auth: { oauth2: { ...document.auth.oauth2, origin_from: undefined } } })),
    ).to.deep.equal(["auth.oauth2"])
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
  return {
    ...vendorDocument(slug, origin, { origin_from }),
    base_url: "https://{domain}.api.vendor.test/v3",
    parameters: { domain: "The account's domain." },
  }
}
