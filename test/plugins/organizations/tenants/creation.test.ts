// Creating organizations: permissions, slugs, and the daily limit.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import type { Role } from "#core/engine"
import { type TestHost, testHost } from "#core/testing"
import { UserSessions } from "../../../../plugins/platform/identity/index.ts"
import { ApiKeys, Organizations } from "../../../../plugins/platform/organizations/index.ts"
import { onBothStores, onStoresInTurn } from "../../../pipeline/stores.ts"

interface Organization {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly role: Role
  readonly secret?: string
}
interface Refusal {
  readonly code: string
  readonly message: string
  readonly details: { readonly reason?: string }
}
type Answer = Organization & Refusal

const settings = (values: object) => ({
  MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ organizations: values }),
  MILLRACE_RATE_LIMITS_KEY_PER_MINUTE: "100000",
  MILLRACE_RATE_LIMITS_ORGANIZATION_PER_MINUTE: "100000",
})
const create = (host: TestHost, body: object, key = host.adminKey) => host.api<Answer>("POST", "/v1/organizations", body, { key })
const update = (host: TestHost, body: object, key = host.adminKey) => host.api<Answer>("PATCH", "/v1/organization", body, { key })
const list = (host: TestHost, key = host.adminKey) =>
  host.api<{ organizations: Organization[] }>("GET", "/v1/organizations", undefined, { key })

/** Creates a key of a new member of the default organization, or without a user. */
function keyOf(host: TestHost, role: Role, email?: string) {
  return host.get(UnitsOfWork).run((work) => {
    const organizations = host.get(Organizations)
    const user = email === undefined ? null : organizations.addUser(work, { email }).id
    if (user) organizations.addMember(work, host.organization.id, user, role)
    return host.get(ApiKeys).mint(work, host.organization.id, { name: "k", kind: "api_key", role, scopes: null, user }).text
  })
}

onBothStores("create organizations at once", ({ start }) => {
  it("gives 100 organizations of one name 100 slugs", async () => {
    const host = await start({ env: settings({ max_created_per_day: 100 }) })
    const answers = await Promise.all(Array.from({ length: 100 }, () => create(host, { name: "Bäckerei Müller" })))
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([200]))
    expect(new Set(answers.map(({ body }) => body.slug)).size).to.equal(100)
    expect(answers.filter(({ body }) => body.slug === "backerei-muller")).to.have.length(1)
    const refused = await create(host, { name: "One more" })
    expect([refused.status, refused.body.details.reason]).to.deep.equal([429, "daily_limit"])
    expect(Number(refused.headers.get("retry-after"))).to.be.within(1, 86_400)
  })

  it("gives one slug to one organization, and counts refused calls as none", async () => {
    const host = await start({ env: settings({ max_created_per_day: 2 }) })
    const answers = await Promise.all(Array.from({ length: 20 }, () => create(host, { name: "Acme", slug: "acme" })))
    expect(answers.filter(({ status }) => status === 200)).to.have.length(1)
    const refused = answers.filter(({ status }) => status !== 200)
    expect(new Set(refused.map(({ body }) => body.details.reason))).to.deep.equal(new Set(["slug_taken"]))
    expect((await create(host, { name: "Second" })).status).to.equal(200)
    expect((await create(host, { name: "Third" })).status).to.equal(429)
  })

  it("limits a user who creates many at the same time", async () => {
    const host = await start({ env: settings({ max_created_per_day: 3 }) })
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => create(host, { name: `Shop ${n}` })))
    expect(answers.filter(({ status }) => status === 200)).to.have.length(3)
    for (const { status } of answers) expect(status).to.be.oneOf([200, 429])
  })
})

onStoresInTurn("create an organization", ({ start }) => {
  let host: TestHost
  before(async () => {
    host = await start()
  })

  it("refuses a person without an organization, unless the settings allow everyone", async () => {
    const text = await host.get(UnitsOfWork).run((work) => {
      const user = host.get(Organizations).addUser(work, { email: "alone@example.com" }).id
      const input = { user, organization: null, method: "email_code", device: "", address: "" } as const
      return host.get(UserSessions).open(work, input).text
    })
    const refused = await create(host, { name: "Bakery" }, text)
    expect([refused.status, refused.body.details.reason]).to.deep.equal([403, "no_organization"])
    expect(refused.body.message).to.include("self_service is owners")
  })

  it("makes the caller's user its owner, with a first key on request", async () => {
    const { status, body } = await create(host, { name: "Bakery", time_zone: "Europe/Berlin", first_key: true })
    expect(status).to.equal(200)
    expect(body).to.include({ slug: "bakery", name: "Bakery", role: "owner", time_zone: "Europe/Berlin", notification_address: null })
    const me = await host.api("GET", "/v1/me", undefined, { key: body.secret ?? "" })
    expect(me.body).to.deep.include({ role: "owner", organization: { id: body.id, slug: "bakery", name: "Bakery" } })
    const members = await host.api<{ members: { role: string }[] }>("GET", "/v1/members", undefined, { key: body.secret ?? "" })
    expect(members.body.members.map(({ role }) => role)).to.deep.equal(["owner"])
    expect((await create(host, { name: "No key" })).body).not.to.have.property("secret")
  })

  it("lists the organization of a key, with the role of the key", async () => {
    const { body } = await create(host, { name: "Listed", first_key: true })
    const slugsOf = ({ body: { organizations } }: Awaited<ReturnType<typeof list>>) => organizations.map(({ slug, role }) => [slug, role])
    expect(slugsOf(await list(host, body.secret ?? ""))).to.deep.equal([["listed", "owner"]])
    expect(slugsOf(await list(host))).to.deep.equal([["default", "owner"]])
    expect(slugsOf(await list(host, await keyOf(host, "guest", "guest@example.com")))).to.deep.equal([["default", "guest"]])
  })

  it("lists every organization of a person who signed in, by slug, page by page, and no other", async () => {
    const session = await host.get(UnitsOfWork).run((work) => {
      const user = host.get(Organizations).addUser(work, { email: "session@example.com" }).id
      const input = { user, organization: null, method: "email_code", device: "", address: "" } as const
      return { user, text: host.get(UserSessions).open(work, input).text }
    })
    const [first, second] = [await create(host, { name: "Zeta" }), await create(host, { name: "Alpha" })]
    await host.get(UnitsOfWork).run((work) => {
      host.get(Organizations).addMember(work, first.body.id, session.user, "admin")
      host.get(Organizations).addMember(work, second.body.id, session.user, "guest")
    })
    const page = async (cursor: string) =>
      (
        await host.api<{ organizations: Organization[]; next_cursor: string }>(
          "GET",
          `/v1/organizations?limit=1&cursor=${cursor}`,
          undefined,
          { key: session.text },
        )
      ).body
    const item = await page("")
    const two = await page(item.next_cursor)
    const rows = [...item.organizations, ...two.organizations].map(({ slug, role }) => [slug, role])
    expect([rows, two.next_cursor]).to.deep.equal([
      [
        ["alpha", "guest"],
        ["zeta", "admin"],
      ],
      "",
    ])
  })

  for (const [name, slug] of [
    ["Пекарня", "pekarnya"],
    ["  Café   Zürich  ", "cafe-zurich"],
    ["東京", undefined],
    ["🥐", undefined],
    ["0199f3a2-7c1e-7d40-9b3a-5e2f6c8d1a04", undefined],
  ] as const) {
    it(`derives a slug from the name ${JSON.stringify(name)}`, async () => {
      const { status, body } = await create(host, { name })
      expect(status).to.equal(200)
      expect(body.slug).to.match(/^[a-z0-9]+(-[a-z0-9]+)*$/)
      if (slug) expect(body.slug).to.equal(slug)
      expect(body.slug).not.to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-/)
      expect(body.name).to.equal(name.trim())
    })
  }

  it("refuses a slug in the form of a UUID, a bad time zone, and fields that do not exist", async () => {
    const uuid = "0199f3a2-7c1e-7d40-9b3a-5e2f6c8d1a04"
    for (const body of [
      { name: "X", slug: uuid },
      { name: "X", slug: "Not A Slug" },
      { name: "X", time_zone: "Berlin" },
      { name: " " },
      { name: "X", id: uuid },
    ])
      expect((await create(host, body)).status, JSON.stringify(body)).to.equal(400)
    expect((await update(host, { slug: uuid })).status).to.equal(400)
  })

  it("refuses roles below owner, keys without a user, and revoked keys", async () => {
    const reasonOf = async (key: string) => (await create(host, { name: "Refused" }, key)).body.details.reason
    for (const role of ["admin", "member", "guest"] as const)
      expect(await reasonOf(await keyOf(host, role, `${role}-refused@example.com`))).to.equal("role_too_low")
    const service = await create(host, { name: "Refused" }, await keyOf(host, "owner"))
    expect([service.status, service.body.details.reason]).to.deep.equal([403, "user_required"])
    expect(service.body.message).to.include("millrace organizations create --owner")
    const { body } = await host.api<{ id: string; secret: string }>("POST", "/v1/api-keys", { name: "Short", role: "owner" })
    await host.api("POST", `/v1/api-keys/${body.id}/revoke`)
    expect(await reasonOf(body.secret)).to.equal("credential_revoked")
    expect(await host.get(Organizations).bySlug("refused")).to.equal(undefined)
  })

  it("gives a token no first key, which would have more scopes", async () => {
    const keyOptions = { name: "t", kind: "token", role: "owner", scopes: ["organizations:write"] }
    const { body } = await host.api<{ secret: string }>("POST", "/v1/api-keys", keyOptions)
    const refused = await create(host, { name: "Token", first_key: true }, body.secret)
    expect([refused.status, refused.body.details.reason]).to.deep.equal([403, "missing_scope"])
    expect((await create(host, { name: "Token" }, body.secret)).status).to.equal(200)
  })
})

describe("the setting self_service", () => {
  const hosts: TestHost[] = []
  after(async () => {
    for (const host of hosts) await host.stop()
  })
  const withSetting = async (self_service: string) => {
    const host = await testHost({ env: settings({ self_service }) })
    hosts.push(host)
    return host
  }

  it("nobody: refuses owners too", async () => {
    const refused = await create(await withSetting("nobody"), { name: "X" })
    expect([refused.status, refused.body.details.reason]).to.deep.equal([403, "self_service_off"])
    expect(refused.body.message).to.include("self_service")
  })

  it("everyone: lets a guest create one, and be its owner", async () => {
    const host = await withSetting("everyone")
    const { status, body } = await create(host, { name: "Guest's own" }, await keyOf(host, "guest", "g@example.com"))
    expect([status, body.role]).to.deep.equal([200, "owner"])
  })
})

onBothStores("slugs of organizations", ({ start }) => {
  let host: TestHost
  before(async () => {
    host = await start({ env: settings({ max_created_per_day: 100 }) })
  })
  const createOrganization = async (name: string) => {
    const { body } = await create(host, { name, first_key: true })
    return { ...body, key: body.secret ?? "" }
  }
  const inside = (key: string, organization: string) =>
    host.api<{ organization: { slug: string } } & Refusal>("GET", "/v1/me", undefined, {
      key,
      headers: { "x-organization-id": organization },
    })

  it("change by PATCH, and the earlier slug still names the organization", async () => {
    const { key } = await createOrganization("Old name")
    expect((await update(host, { slug: "new-name" }, key)).body.slug).to.equal("new-name")
    for (const slug of ["new-name", "old-name"]) expect((await inside(key, slug)).body.organization.slug).to.equal("new-name")
  })

  it("are never given to a second organization, by create or by PATCH", async () => {
    const [first, second] = [await createOrganization("Left behind"), await createOrganization("Wants it")]
    await update(host, { slug: "moved-on" }, first.key)
    for (const refused of [
      await create(host, { name: "X", slug: "left-behind" }),
      await update(host, { slug: "left-behind" }, second.key),
      await update(host, { slug: "moved-on" }, second.key),
    ])
      expect([refused.status, refused.body.details.reason]).to.deep.equal([409, "slug_taken"])
    expect((await create(host, { name: "Left behind" })).body.slug).to.match(/^left-behind-[a-z0-9]{6}$/)
    // Renamed back to its own former slug.
    expect((await update(host, { slug: "left-behind" }, first.key)).body.slug).to.equal("left-behind")
  })

  it("go to one of two organizations that ask at once", async () => {
    const both = [await createOrganization("First of two"), await createOrganization("Second of two")]
    const answers = await Promise.all(both.map(({ key }) => update(host, { slug: "wanted-by-two" }, key)))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 409])
  })
})
