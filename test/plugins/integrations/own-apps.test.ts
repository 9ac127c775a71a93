// An organization's own apps and OAuth clients, by operation: under the same rules as the service's apps, separated from other
// organizations, and without access to the secrets of another app.

import { randomUUID } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { expect } from "chai"
import { Store, UnitsOfWork } from "#core"
import { Integrations } from "../../../plugins/agents/integrations/index.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { collectionNamed } from "../collection-named.ts"
import { Browser } from "./oauth/browser.ts"
import { vendorClient } from "./oauth/vendor-server.ts"
import { returnUrl, startVendorService, type VendorService, vendorDocument } from "./oauth/vendor-service.ts"

/** Maximum number of own apps per organization. */
const maxApps = 100

interface Refusal {
  readonly message: string
  readonly details: { readonly reason: string; readonly fields: { readonly path: string }[] }
}

describe("an organization's own apps and OAuth clients", () => {
  let service: VendorService
  let other: { readonly id: string; readonly key: string }
  let member: string
  before(async () => {
    // The operator has a client for an app `later` that does not exist.
    const integrations = { oauth_clients: { vendor: vendorClient, later: vendorClient } }
    service = await startVendorService((origin) => [vendorDocument("vendor", origin)], { integrations })
    const { host } = service
    other = await host.get(UnitsOfWork).run((work) => {
      const { id } = host.get(Organizations).create(work, { name: "Other", slug: "other" })
      const { text } = host.get(ApiKeys).mint(work, id, { name: "Key", kind: "api_key", role: "admin", scopes: null, user: null })
      return { id, key: text }
    })
    member = (await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "member", role: "member" })).body.secret
  })
  after(() => service.stop())
  beforeEach(() => {
    service.vendor.asked.length = 0
  })

  const apps = "/v1/integration-apps"
  const clients = "/v1/integration-oauth-clients"
  const api = <T = Refusal>(method: string, path: string, body?: unknown, key?: string) =>
    service.host.api<T>(method, path, body, key === undefined ? {} : { key })
  const refused = async (call: Promise<{ readonly status: number; readonly body: Refusal }>) => {
    const { status, body } = await call
    return [status, body.details.reason, ...(body.details.fields ?? []).map(({ path }) => path)]
  }
  const keyed = (slug: string) => ({
    ...vendorDocument(slug, service.vendor.origin),
    auth: { api_key: { authorise: { in: "header", name: "X-Api-Key" } } },
  })
  const granted = (slug: string) => vendorDocument(slug, service.vendor.origin)
  const create = async (document: object, key?: string) => {
    const { status, body } = await api("POST", apps, { document }, key)
    expect(status, JSON.stringify(body)).to.equal(200)
  }
  const connectKeyed = (app: string, key?: string) =>
    api<{ integration_id: string }>("POST", "/v1/integrations-connect", { app, credentials: { api_key: "K-1" }, share_with_org: true }, key)

  it("have redirect URIs that name their organization, and take an answer at no other", async () => {
    const { host, vendor } = service
    await create(granted("acme"))
    await create(granted("acme"), other.key)
    const uris = []
    for (const key of [host.adminKey, other.key]) {
      const { body } = await api<{ redirect_uri: string }>("PUT", `${clients}/acme`, vendorClient, key)
      uris.push(body.redirect_uri)
      const { body: page } = await api<{ integration_oauth_clients: { app: string; redirect_uri: string }[] }>(
        "GET",
        clients,
        undefined,
        key,
      )
      expect(page.integration_oauth_clients.find(({ app }) => app === "acme")?.redirect_uri).to.equal(body.redirect_uri)
    }
    const base = `${host.url}/v1/integrations/oauth/callback`
    expect(uris).to.deep.equal([`${base}/${host.organization.id}/acme`, `${base}/${other.id}/acme`])

    const input = { app: "acme", name: "Acme", share_with_org: true, return_url: returnUrl }
    const connect = await api<{ connect_url: string; integration_id: string }>("POST", "/v1/integrations-connect", input, other.key)
    const browser = new Browser()
    const { url: back } = await browser.open(connect.body.connect_url, (next) => next.startsWith(base))
    expect(back.startsWith(`${base}/${other.id}/acme?`), back).to.equal(true)
    vendor.asked.length = 0
    const query = new URL(back).search
    for (const place of [`${host.organization.id}/acme`, "acme", `${other.id}/vendor`, `${other.id.toUpperCase()}/acme`]) {
      const { status } = await browser.open(`${base}/${place}${query}`, () => false)
      expect(status, place).to.equal(400)
    }
    expect(vendor.asked).to.deep.equal([])
    const { url } = await browser.open(back, (next) => next.startsWith(returnUrl))
    expect(new URL(url).searchParams.get("status")).to.equal("connected")
    for (const key of [host.adminKey, other.key]) {
      await api("DELETE", `${clients}/acme`, undefined, key)
      if (key === other.key) await api("DELETE", `/v1/integrations/${connect.body.integration_id}`, undefined, key)
      await api("DELETE", `${apps}/acme`, undefined, key)
    }
  })

  it("keep the redirect URI of the service's app for a client of the organization", async () => {
    const { body } = await api<{ redirect_uri: string }>("PUT", `${clients}/vendor`, vendorClient, other.key)
    expect(body.redirect_uri).to.equal(`${service.host.url}/v1/integrations/oauth/callback/vendor`)
    expect((await api("DELETE", `${clients}/vendor`, undefined, other.key)).status).to.equal(200)
  })

  it("have the document of the second app after a deletion and a creation with the same slug", async () => {
    const baseUrl = async () => {
      const { body } = await api<{ integration_apps: { slug: string; base_url: string }[] }>("GET", apps, undefined, other.key)
      return body.integration_apps.find(({ slug }) => slug === "again")?.base_url
    }
    for (const host of ["one", "two", "three"]) {
      await create({ ...keyed("again"), base_url: `https://${host}.example.com` }, other.key)
      expect(await baseUrl()).to.equal(`https://${host}.example.com`)
      expect((await api("DELETE", `${apps}/again`, undefined, other.key)).status).to.equal(200)
    }
  })

  it("are listed, connected and called as others", async () => {
    await create(keyed("keyed"))
    const { body } = await api<{ integration_apps: { slug: string; own: boolean }[] }>("GET", apps)
    expect(body.integration_apps.filter(({ own }) => own).map(({ slug }) => slug)).to.deep.equal(["keyed"])
    const { integration_id } = (await connectKeyed("keyed")).body
    expect((await service.call(integration_id)).status).to.equal(200)
    const tested = await api<{ ok: boolean }>("POST", `/v1/integrations/${integration_id}/test`)
    expect(tested.body.ok).to.equal(true)
  })

  it("are connected by OAuth with the organization's client, whose secret is shown nowhere", async () => {
    await create(granted("granted"))
    const secret = vendorClient.client_secret
    const unset = await refused(api("POST", "/v1/integrations-connect", { app: "granted" }))
    expect(unset).to.deep.equal([400, "authorization_unavailable"])
    const set = await api<object>("PUT", `${clients}/granted`, vendorClient)
    expect(set.body).to.deep.include({ app: "granted", client_id: vendorClient.client_id, has_client_secret: true })
    const { integration_id } = await service.connect("granted")
    expect((await service.call(integration_id)).status).to.equal(200)
    expect(service.vendor.at("/token")[0]?.form.get("client_secret")).to.equal(secret)
    const resources = [set.body, (await api("GET", clients)).body, (await api("GET", "/v1/audit-log?limit=200")).body, service.host.logged]
    expect(JSON.stringify(resources)).to.include(vendorClient.client_id).and.not.to.include(secret)
    expect(onDisk(service.host.dataDir)).to.include("granted").and.not.to.include(secret)
  })

  it("refresh with the client that granted, also once another one is set", async () => {
    const { integration_id } = await service.connect("vendor")
    await api("PUT", `${clients}/vendor`, { client_id: "another" })
    service.host.clock.move(3_600_000)
    expect((await service.call(integration_id)).status).to.equal(200)
    expect(service.vendor.at("/token").map(({ form }) => form.get("client_id"))).to.deep.equal(Array(2).fill(vendorClient.client_id))
    expect((await api("DELETE", `${clients}/vendor`)).status).to.equal(200)
    expect(await refused(api("DELETE", `${clients}/vendor`))).to.deep.equal([404, "oauth_client_not_found"])
  })

  it("are never given the operator's client, be it for an app of their name", async () => {
    await create(granted("later"))
    expect(await refused(api("POST", "/v1/integrations-connect", { app: "later" }))).to.deep.equal([400, "authorization_unavailable"])
  })

  it("are refused with what is wrong", async () => {
    const post = (change: object) => refused(api("POST", apps, { document: { ...keyed("wrong"), ...change } }))
    expect(await post({ slug: "slack" })).to.deep.equal([409, "app_slug_taken"])
    expect(await post({ slug: "keyed" })).to.deep.equal([409, "app_slug_taken"])
    expect((await post({ base_url: "ftp://x" })).at(-1)).to.equal("document.base_url")
    expect((await post({ base_url: "https://{open}.example.com" })).at(-1)).to.equal("document.base_url")
    for (const url of ["http://169.254.169.254", "http://10.0.0.1/v1", "http://[::1]:9/v1"]) {
      expect(await post({ base_url: url }), url).to.deep.equal([400, "app_destination_refused", "document.base_url"])
    }
    for (const [authorise, field] of [
      [{ in: "header", name: "X-Key", prefix: "a\r\nX-B: " }, "prefix"],
      [{ in: "header", name: "Transfer-Encoding" }, "name"],
      [{ in: "basic", username: "a\r\n" }, "username"],
    ] as const)
      expect((await post({ auth: { api_key: { authorise } } })).at(-1)).to.equal(`document.auth.api_key.authorise.${field}`)
    const elsewhere = { oauth2: { ...granted("wrong").auth.oauth2, token_url: "https://192.168.0.1/token" } }
    expect(await post({ auth: elsewhere })).to.deep.equal([400, "app_destination_refused", "document.auth.oauth2.token_url"])
    expect(
      (await post({ summary: "x", headers: Object.fromEntries(Array.from({ length: 90 }, (_, n) => [`X-${n}`, "y".repeat(900)])) }))[0],
    ).to.equal(400)
    expect(await refused(api("GET", `${apps}/wrong`))).to.deep.equal([404, "app_not_found"])
    expect(await refused(api("PUT", `${clients}/twilio`, vendorClient))).to.deep.equal([400, "app_without_oauth", "app"])
  })

  it("keep their hosts while they are connected or have a client, and their slug", async () => {
    await create(keyed("moving"))
    const put = (document: object, more: object = {}) => api("PATCH", `${apps}/moving`, { document, ...more })
    const away = { ...keyed("moving"), base_url: "https://collector.example.com/v3" }
    expect(await refused(put(keyed("moved")))).to.deep.equal([400, "app_slug_fixed", "document.slug"])
    const { integration_id } = (await connectKeyed("moving")).body
    expect(await refused(put(away))).to.deep.equal([400, "app_in_use", "document.base_url"])
    expect(await refused(api("DELETE", `${apps}/moving`))).to.deep.equal([400, "app_in_use", "slug"])
    expect((await put({ ...keyed("moving"), base_url: `${service.vendor.origin}/v4` }, { expected_revision: 1 })).status).to.equal(200)
    expect((await put(keyed("moving"), { expected_revision: 1 })).body.details.reason).to.equal("revision_mismatch")
    await service.call(integration_id)
    expect(service.vendor.asked.map(({ path }) => path)).to.deep.equal(["/v4/contacts"])
    await api("DELETE", `/v1/integrations/${integration_id}`)
    expect((await put(away)).status).to.equal(200)
    expect((await api("DELETE", `${apps}/moving`)).status).to.equal(200)

    await create(granted("clients"))
    await api("PUT", `${clients}/clients`, vendorClient)
    const oauth2 = { ...granted("clients").auth.oauth2, token_url: "https://collector.example.com/token" }
    const moved = api("PATCH", `${apps}/clients`, { document: { ...granted("clients"), auth: { oauth2 } } })
    expect(await refused(moved)).to.deep.equal([400, "app_in_use", "document.auth.oauth2.token_url"])
    expect(await refused(api("DELETE", `${apps}/clients`))).to.deep.equal([400, "app_in_use", "slug"])
  })

  it("are behind the organization's wall, and an admin's alone", async () => {
    await create(keyed("walled"))
    expect(await refused(api("GET", `${apps}/walled`, undefined, other.key))).to.deep.equal([404, "app_not_found"])
    expect(await refused(api("PATCH", `${apps}/walled`, { document: keyed("walled") }, other.key))).to.deep.equal([404, "app_not_found"])
    expect(await refused(api("DELETE", `${apps}/walled`, undefined, other.key))).to.deep.equal([404, "app_not_found"])
    expect((await connectKeyed("walled", other.key)).status).to.equal(400)
    expect((await api<object>("GET", clients, undefined, other.key)).body).to.deep.equal({ integration_oauth_clients: [] })
    await create({ ...keyed("walled"), base_url: `${service.vendor.origin}/theirs` }, other.key)
    const { integration_id } = (await connectKeyed("walled", other.key)).body
    await service.host.get(Integrations).call(other.id, integration_id, { method: "GET", path: "/x" })
    expect(service.vendor.asked.map(({ path }) => path)).to.deep.equal(["/theirs/x"])
    for (const [method, path, body] of [
      ["POST", apps, { document: keyed("members") }],
      ["PATCH", `${apps}/walled`, { document: keyed("walled") }],
      ["DELETE", `${apps}/walled`, undefined],
      ["PUT", `${clients}/granted`, vendorClient],
      ["DELETE", `${clients}/granted`, undefined],
      ["GET", clients, undefined],
    ] as const) {
      expect((await api(method, path, body, member)).status, `${method} ${path}`).to.equal(403)
    }
    expect(
      await service.host
        .get(Store)
        .open(collectionNamed(service.host, "integration_oauth_clients"), service.host.organization.id)
        .first({ app: "granted" }),
    ).to.not.equal(undefined)
  })

  it("are so many at most", async () => {
    const now = new Date(0).toISOString()
    await service.host.get(UnitsOfWork).run((work) => {
      for (let n = 0; n < maxApps; n++) {
        const slug = `filler-${n}`
        const document = keyed(slug) as never
        work
          .in(collectionNamed<{ slug: string }>(service.host, "integration_apps"), other.id)
          .insert({ ...{ id: randomUUID(), document, revision: 1, uses: 0, created_at: now, updated_at: now }, slug })
      }
    })
    expect(await refused(api("POST", apps, { document: keyed("more") }, other.key))).to.deep.equal([429, "too_many_apps"])
  })
})

function onDisk(folder: string): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.map(({ parentPath, name }) => readFileSync(`${parentPath}/${name}`, "latin1")).join("\n")
}
