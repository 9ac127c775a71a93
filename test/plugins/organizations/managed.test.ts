// Links between organizations: creation, reach, and end.
import { expect } from "chai"
import { io } from "socket.io-client"
import { UnitsOfWork } from "#core"
import type { Role } from "#core/engine"
import { type TestHost, testHost } from "#core/testing"
import { UserSessions } from "../../../plugins/platform/identity/index.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"

interface Refusal {
  readonly code: string
  readonly details: { readonly reason?: string }
}
interface Owned {
  readonly user: string
  readonly id: string
  readonly slug: string
  readonly key: string
}

describe("managed organizations", () => {
  let host: TestHost
  let ada: string
  before(async () => {
    host = await testHost()
    ada = await host.get(UnitsOfWork).run((work) => host.get(Organizations).addUser(work, { email: "ada@example.com" }).id)
  })
  after(() => host.stop())

  /** Creates an organization owned by the user, with a key. */
  const owned = (slug: string, user = ada): Promise<Owned> =>
    host.get(UnitsOfWork).run((work) => {
      const { id } = host.get(Organizations).create(work, { name: slug, slug })
      host.get(Organizations).addMember(work, id, user, "owner")
      const keyOptions = { name: "k", kind: "api_key", role: "owner", scopes: null, user } as const
      return { user, id, slug, key: host.get(ApiKeys).mint(work, id, keyOptions).text }
    })
  const serviceKey = (organization: string, role: Role, manager = false) =>
    host.get(UnitsOfWork).run((work) => {
      const keyOptions = { name: "s", kind: "api_key", role, scopes: null, user: null, manager } as const
      return host.get(ApiKeys).mint(work, organization, keyOptions).text
    })
  const sessionOf = ({ user, id }: Owned) =>
    host.get(UnitsOfWork).run((work) => {
      const input = { user, organization: id, method: "email_code", device: "", address: "" } as const
      return host.get(UserSessions).open(work, input).text
    })
  const adopt = async (manager: Owned, organization: string, role: Role = "member", key?: string) =>
    await host.api<Refusal>("POST", "/v1/managed-organizations-adopt", { organization, role }, { key: key ?? (await sessionOf(manager)) })
  const end = (key: string, organization: string) =>
    host.api<Refusal>("DELETE", `/v1/managed-organizations/${organization}`, undefined, { key })
  const inside = (key: string, organization: string) => ({ key, headers: { "x-organization-id": organization } })

  it("are adopted by an owner of both, and of nobody else", async () => {
    const [agency, shop] = [await owned("agency"), await owned("shop")]
    const stranger = await host.get(UnitsOfWork).run((work) => host.get(Organizations).addUser(work, { email: "s@example.com" }).id)
    const foreign = await owned("foreign", stranger)
    for (const reference of [foreign.slug, foreign.id, "nowhere"]) {
      const refused = await adopt(agency, reference)
      expect([refused.status, refused.body.details.reason]).to.deep.equal([404, "organization_not_accessible"])
    }
    expect((await adopt(agency, shop.slug)).status).to.equal(200)
    for (const again of [await adopt(agency, shop.slug), await adopt(shop, agency.slug), await adopt(agency, agency.slug)])
      expect(again.body.details.reason).to.equal("already_managed")
    expect((await end(foreign.key, shop.slug)).status).to.equal(404)
  })

  it("refuse a key of another organization of the same user", async () => {
    const [agency, shop] = [await owned("agency-keys"), await owned("shop-keys")]
    const session = await sessionOf(agency)
    const invited = await host.api<{ code: string }>(
      "POST",
      "/v1/managed-organization-invitations",
      { role: "admin" },
      { key: (await owned("manager-keys")).key },
    )
    const { code } = invited.body
    const accept = (key: string, organization?: string) =>
      host.api<Refusal>("POST", "/v1/managed-organizations-accept", { code, ...(organization && { organization }) }, { key })
    const pause = (verb: "archive" | "restore", key: string, organization: string) =>
      host.api<Refusal>("POST", `/v1/organization/${verb}`, { organization }, { key })
    for (const organization of [shop.slug, shop.id, "nowhere"])
      for (const refused of [
        await adopt(agency, organization, "admin", agency.key),
        await accept(agency.key, organization),
        await pause("archive", agency.key, organization),
        await pause("restore", agency.key, organization),
      ])
        expect([refused.status, refused.body.details.reason], organization).to.deep.equal([403, "not_a_person"])
    expect(
      (await host.api<{ managed_by: null }>("GET", "/v1/managed-organizations", undefined, { key: shop.key })).body.managed_by,
    ).to.equal(null)
    expect((await pause("archive", agency.key, agency.id)).status).to.equal(200)
    expect((await pause("restore", agency.key, agency.slug)).status).to.equal(200)
    for (const verb of ["archive", "restore"] as const) expect((await pause(verb, session, shop.slug)).status).to.equal(200)
    expect((await accept(session, shop.slug)).status).to.equal(200)
  })

  it("are listed by slug, page by page, to nobody but their manager", async () => {
    const agency = await owned("agency-list")
    const clients = ["c-3", "c-1", "c-2"]
    for (const slug of clients) {
      await owned(slug)
      await adopt(agency, slug)
    }
    interface Listed {
      readonly organizations: { slug: string }[]
      readonly next_cursor: string
    }
    const list = async (query: string, key = agency.key) =>
      (await host.api<Listed>("GET", `/v1/managed-organizations${query}`, undefined, { key })).body
    const slugs = ({ organizations }: Listed) => organizations.map(({ slug }) => slug)
    const all = await list("")
    expect([slugs(all), all.next_cursor]).to.deep.equal([["c-1", "c-2", "c-3"], ""])
    const page = await list("?limit=2")
    expect(slugs(page)).to.deep.equal(["c-1", "c-2"])
    const others = await list(`?limit=2&cursor=${page.next_cursor}`)
    expect([slugs(others), others.next_cursor]).to.deep.equal([["c-3"], ""])
    const stranger = await owned("stranger-list")
    const foreign = await host.api<Refusal>("GET", `/v1/managed-organizations?cursor=${page.next_cursor}`, undefined, { key: stranger.key })
    expect([foreign.status, foreign.body.details.reason]).to.deep.equal([400, "invalid_cursor"])
  })

  it("are reached by manager keys alone, and as far as the link's role", async () => {
    const [agency, shop] = [await owned("agency-2"), await owned("shop-2")]
    await adopt(agency, shop.slug, "guest")
    const [manager, plain] = [await serviceKey(agency.id, "admin", true), await serviceKey(agency.id, "admin")]
    expect((await host.api("GET", "/v1/datasets", undefined, inside(manager, shop.slug))).status).to.equal(200)
    const writes = await host.api<Refusal>("POST", "/v1/datasets", { name: "Leads" }, inside(manager, shop.slug))
    expect([writes.status, writes.body.details.reason]).to.deep.equal([403, "role_too_low"])
    expect((await host.api("GET", "/v1/datasets", undefined, inside(plain, shop.slug))).status).to.equal(404)
    for (const [method, path, body] of [
      ["POST", "/v1/managed-organization-invitations", { role: "admin" }],
      ["DELETE", `/v1/managed-organizations/${shop.slug}`, undefined],
    ] as const) {
      const refused = await host.api<Refusal>(method, path, body, { key: manager })
      expect([refused.status, refused.body.details.reason]).to.deep.equal([403, "acts_for_client"])
    }
  })

  it("end from either side, with the live connections of the manager's keys", async () => {
    const [agency, shop] = [await owned("agency-3"), await owned("shop-3")]
    const manager = await serviceKey(agency.id, "admin", true)
    for (const [key, other] of [
      [agency.key, shop.slug],
      [shop.key, agency.slug],
    ] as const) {
      await adopt(agency, shop.slug)
      const auth = { token: manager, organization: shop.slug }
      const socket = io(host.url, { path: "/live", auth, reconnection: false, forceNew: true, transports: ["websocket"] })
      await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("connect_error", reject))
      const dropped = new Promise<void>((resolve) => socket.once("disconnect", () => resolve()))
      expect((await end(key, other)).status).to.equal(200)
      await dropped
      socket.close()
      expect((await host.api("GET", "/v1/me", undefined, inside(manager, shop.slug))).status).to.equal(404)
      expect((await end(key, other)).body.details.reason).to.equal("organization_not_accessible")
    }
  })

  it("keep no key that a manager makes while the link ends", async () => {
    const [agency, shop] = [await owned("agency-4"), await owned("shop-4")]
    const manager = await serviceKey(agency.id, "admin", true)
    for (let round = 0; round < 5; round++) {
      await adopt(agency, shop.slug, "admin")
      const keyOptions = { name: `left ${round}`, role: "member" }
      const [response, ended] = await Promise.all([
        host.api<{ secret: string }>("POST", "/v1/api-keys", keyOptions, inside(manager, shop.slug)),
        end(shop.key, agency.slug),
      ])
      if (ended.status === 409) await end(shop.key, agency.slug)
      if (response.status === 200) expect((await host.api("GET", "/v1/me", undefined, { key: response.body.secret })).status).to.equal(401)
      else expect([404, 409]).to.include(response.status)
    }
  })

  it("end with every credential that descends from the manager, and with no other", async () => {
    const [agency, shop] = [await owned("agency-tree"), await owned("shop-tree")]
    const manager = await serviceKey(agency.id, "admin", true)
    await adopt(agency, shop.slug, "admin")
    const make = async (options: { key: string; headers?: Record<string, string> }, name: string) => {
      const keyOptions = { name, role: "admin" }
      const response = await host.api<{ secret: string; id: string }>("POST", "/v1/api-keys", keyOptions, options)
      expect(response.status, JSON.stringify(response.body)).to.equal(200)
      return response.body
    }
    const child = await make(inside(manager, shop.slug), "child")
    const grandchild = await make({ key: child.secret }, "grandchild")
    const last = await make({ key: grandchild.secret }, "great-grandchild")
    // Keys of an earlier version name only their creator.
    const earlier = await host.get(UnitsOfWork).run((work) => {
      const keyOptions = { name: "earlier", kind: "api_key", role: "admin", scopes: null, user: null, createdBy: child.id } as const
      return host.get(ApiKeys).mint(work, shop.id, keyOptions).text
    })
    const signedIn = await fetch(`${host.url}/console-session`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ key: last.secret }),
    })
    const cookie = signedIn.headers.get("set-cookie")?.split(";")[0] ?? ""
    const own = await make({ key: shop.key }, "own")
    const viewer = async (key: string) => (await host.api<{ token: string }>("POST", "/v1/viewer-sessions", {}, { key })).body.token
    const upload = async (key: string) =>
      (await host.api<{ upload_url: string }>("POST", "/v1/knowledge-uploads", {}, { key })).body.upload_url
    const viewers = [await viewer(grandchild.secret), await viewer(own.secret)]
    const links = [await upload(last.secret), await upload(own.secret)]
    const document = {
      name: "For viewers",
      state: "active",
      auth_mode: "authenticated_viewer",
      pipeline: [{ type: "dataset.write", dataset_slug: "seen", row: { seen: "{{ event.seen }}" } }],
    }
    const { body: pipeline } = await host.api<{ inbound_url: string }>("POST", "/v1/event-pipelines", document, { key: shop.key })
    const send = async (token = "") =>
      (
        await fetch(pipeline.inbound_url, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: '{"seen":"yes"}',
        })
      ).status
    for (const token of viewers) expect(await send(token)).to.equal(200)
    const auth = { token: last.secret }
    const socket = io(host.url, { path: "/live", auth, reconnection: false, forceNew: true, transports: ["websocket"] })
    await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("connect_error", reject))
    const dropped = new Promise<void>((resolve) => socket.once("disconnect", () => resolve()))

    expect((await end(shop.key, agency.slug)).status).to.equal(200)
    await dropped
    socket.close()
    for (const key of [child.secret, grandchild.secret, last.secret, earlier])
      expect((await host.api("GET", "/v1/me", undefined, { key })).status).to.equal(401)
    expect((await fetch(`${host.url}/v1/me`, { headers: { cookie } })).status).to.equal(401)
    expect(await Promise.all(viewers.map(send))).to.deep.equal([401, 200])
    const put = async (link = "") => (await fetch(link, { method: "PUT", body: "A document." })).status
    expect([await put(links[0]), await put(links[1])]).to.deep.equal([403, 200])
    expect((await host.api("GET", "/v1/me", undefined, { key: own.secret })).status).to.equal(200)
    // A later link of the same two organizations does not revive credentials of the first.
    host.clock.set(host.clock.now() + 1_000)
    await adopt(agency, shop.slug, "admin")
    expect((await host.api("GET", "/v1/me", undefined, { key: grandchild.secret })).status).to.equal(401)
    expect(await send(viewers[0])).to.equal(401)
  })

  it("are invited for two weeks, unless the invitation is revoked", async () => {
    const [agency, shop] = [await owned("agency-5"), await owned("shop-5")]
    const invite = async () =>
      (
        await host.api<{ id: string; code: string }>(
          "POST",
          "/v1/managed-organization-invitations",
          { role: "member" },
          { key: agency.key },
        )
      ).body
    const accept = (code: string) => host.api<Refusal>("POST", "/v1/managed-organizations-accept", { code }, { key: shop.key })
    const revoked = await invite()
    const path = `/v1/managed-organization-invitations/${revoked.id}`
    expect((await host.api<Refusal>("DELETE", path, undefined, { key: shop.key })).body.details.reason).to.equal("invitation_not_found")
    expect((await host.api("DELETE", path, undefined, { key: agency.key })).status).to.equal(200)
    expect((await accept(revoked.code)).body.details.reason).to.equal("invitation_not_found")
    const late = await invite()
    expect(JSON.stringify(host.logged)).to.not.contain(late.code)
    host.clock.set(host.clock.now() + 15 * 86_400_000)
    expect((await accept(late.code)).body.details.reason).to.equal("invitation_not_found")
  })
})
