// Authentication: accepted credentials with their caller and organization, and every kind of refusal.
import { expect } from "chai"
import type { Role } from "../../../core/contract/caller.ts"
import type { Json } from "../../../core/contract/collection.ts"
import { Store } from "../../../core/contract/store.ts"
import identity from "../../../plugins/platform/identity/index.ts"
import organizations, {
  ApiKeys,
  Bootstrap,
  generateKey,
  type Organization,
  Organizations,
  type User,
} from "../../../plugins/platform/organizations/index.ts"
import { refusalOf } from "../../refusal.ts"
import { until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { ServiceUnderTest } from "../unit-of-work.ts"

interface Made {
  id: string
  secret: string
  prefix: string
  role: string
}

describe("credentials", () => {
  let service: ServiceUnderTest
  let home: Organization

  before(async () => {
    service = await new ServiceUnderTest([identity, organizations]).start()
    service.key = service.get(Bootstrap).adminKey ?? undefined
    home = await service.get(Organizations).first()
  })
  after(() => service.remove())
  afterEach(() => {
    service.ahead = 0
  })

  const create = (input: Record<string, Json>, key?: string) =>
    service.call<Made>("api_keys.create", { name: "A key", ...input }, key === undefined ? {} : { key })
  const me = (key: string, organization?: string) =>
    service.call<{ organization: { slug: string }; role: Role; scopes: string[] | null; user: { id: string; staff: boolean } | null }>(
      "me.get",
      {},
      organization === undefined ? { key } : { key, organization },
    )
  const anOrganization = async (slug: string) => {
    const organization = await service.work((work) => service.get(Organizations).create(work, { name: slug, slug }))
    return organization
  }
  const aUser = async (email: string, more: { staff?: boolean } = {}): Promise<User> =>
    service.work((work) => service.get(Organizations).addUser(work, { email, ...more }))
  const join = (organization: Organization, user: User, role: Role) =>
    service.work((work) => service.get(Organizations).addMember(work, organization.id, user.id, role))
  const keyFor = async (organization: Organization, user: User | null, role: Role, manager = false) => {
    const keyOptions = { name: "Key", kind: "api_key", role, scopes: null, manager, user: user?.id ?? null } as const
    return (await service.work((work) => service.get(ApiKeys).mint(work, organization.id, keyOptions))).text
  }

  describe("proof", () => {
    it("tells missing, foreign, mistyped and unknown ones apart, all as unauthenticated", async () => {
      const { secret } = await create({})
      const mistyped = secret.slice(0, 30) + (secret[30] === "a" ? "b" : "a") + secret.slice(31)
      for (const [key, reason] of [
        [undefined, "missing_credential"],
        ["", "missing_credential"],
        ["sk_live_something", "malformed_credential"],
        [mistyped, "credential_checksum_mismatch"],
        [generateKey("api_key").text, "unknown_credential"],
      ] as const) {
        const error = await refusalOf(service.call("me.get", {}, { key }))
        expect([error.code, error.details.reason]).to.deep.equal(["unauthenticated", reason])
        if (key) expect(JSON.stringify(error.toBody())).to.not.include(key)
      }
    })

    it("tells a wrong secret behind a known id exactly as an unknown id", async () => {
      const { secret } = await create({})
      const { crc32 } = await import("node:zlib")
      const body = `${secret.slice(0, 24)}${"x".repeat(32)}`
      let remainder = crc32(body)
      let checksum = ""
      for (let n = 0; n < 6; n++) {
        checksum = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".charAt(remainder % 62) + checksum
        remainder = Math.floor(remainder / 62)
      }
      const forged = await refusalOf(service.call("me.get", {}, { key: body + checksum }))
      const unknown = await refusalOf(service.call("me.get", {}, { key: generateKey("api_key").text }))
      expect(forged.toBody()).to.deep.equal(unknown.toBody())
    })

    it("keeps no key: only its hash, and lists show neither", async () => {
      const { id, secret } = await create({ name: "Kept" })
      const stored = await service
        .get(Store)
        .open(collectionNamed<{ hash: string; last_used_at: string | null }>(service, "api_keys"), home.id)
        .get(id)
      expect(stored?.hash).to.match(/^[0-9a-f]{64}$/)
      expect(JSON.stringify(stored)).to.not.include(secret.slice(24))
      const text = JSON.stringify(await service.call("api_keys.list"))
      expect(text).to.include(id)
      expect(text).to.not.include(secret.slice(24))
      expect(text).to.not.include(stored?.hash)
      expect(text).to.not.include('"secret"')
    })
  })

  describe("revoke", () => {
    it("ends a key that is in use at once, keeps it listed, and may be repeated", async () => {
      const { id, secret } = await create({})
      await me(secret)
      const revoked = await service.call("api_keys.revoke", { id })
      const error = await refusalOf(me(secret))
      expect([error.code, error.details.reason]).to.deep.equal(["unauthenticated", "credential_revoked"])
      const page = await service.call<{ api_keys: { id: string; revoked_at: string | null }[] }>("api_keys.list")
      expect(page.api_keys.find((key) => key.id === id)?.revoked_at).to.equal(revoked["revoked_at"])
      expect((await service.call("api_keys.revoke", { id }))["revoked_at"]).to.equal(revoked["revoked_at"])
    })

    it("holds against calls that race with it: none that starts after the answer gets in", async () => {
      const { id, secret } = await create({})
      const racing = Array.from({ length: 20 }, () =>
        me(secret).then(
          () => "in",
          () => "out",
        ),
      )
      await service.call("api_keys.revoke", { id })
      expect(
        await Promise.all(
          Array.from({ length: 20 }, () =>
            me(secret).then(
              () => "in",
              () => "out",
            ),
          ),
        ),
      ).to.deep.equal(Array(20).fill("out"))
      await Promise.all(racing)
      await refusalOf(me(secret))
    })

    it("finds a key by its public part, and not another organization's by either", async () => {
      const { secret, prefix } = await create({})
      await service.call("api_keys.revoke", { id: prefix.slice(7) })
      await refusalOf(me(secret))
      const other = await anOrganization("revoke-walls")
      const theirs = await service.work((work) =>
        service.get(ApiKeys).mint(work, other.id, { name: "Theirs", kind: "api_key", role: "admin", scopes: null, user: null }),
      )
      for (const id of [theirs.stored.id, theirs.stored.key_id]) {
        expect((await refusalOf(service.call("api_keys.revoke", { id }))).code).to.equal("not_found")
      }
      expect((await me(theirs.text)).organization.slug).to.equal("revoke-walls")
      const page = await service.call<{ api_keys: { id: string }[] }>("api_keys.list")
      expect(page.api_keys.some((key) => key.id === theirs.stored.id)).to.equal(false)
    })

    it("of an owner's key is not for an admin", async () => {
      const owners = await create({ role: "owner" })
      const admin = await create({ role: "admin" })
      const error = await refusalOf(service.call("api_keys.revoke", { id: owners.id }, { key: admin.secret }))
      expect(error.code).to.equal("permission_denied")
      expect((await me(owners.secret)).role).to.equal("owner")
    })
  })

  describe("expiry", () => {
    it("ends a key when its time has come, also while it is kept in memory", async () => {
      const { secret } = await create({ expires_at: new Date(Date.now() + 60_000).toISOString() })
      await me(secret)
      service.ahead = 61_000
      const error = await refusalOf(me(secret))
      expect([error.code, error.details.reason]).to.deep.equal(["unauthenticated", "credential_expired"])
    })

    it("is refused when it is past", async () => {
      const error = await refusalOf(create({ expires_at: "2020-01-01T00:00:00.000Z" }))
      expect(error.details.fields?.map(({ path }) => path)).to.deep.equal(["expires_at"])
    })
  })

  describe("roles and scopes", () => {
    it("give a key no more than its maker has", async () => {
      const admin = await create({ role: "admin" })
      expect((await me(admin.secret)).role).to.equal("admin")
      expect((await refusalOf(create({ role: "owner" }, admin.secret))).code).to.equal("permission_denied")
      expect((await refusalOf(create({ role: "guest", manager: true }, admin.secret))).code).to.equal("permission_denied")
      const member = await create({ role: "member" }, admin.secret)
      expect((await refusalOf(create({}, member.secret))).code).to.equal("permission_denied")
      expect((await refusalOf(service.call("api_keys.list", {}, { key: member.secret }))).code).to.equal("permission_denied")
    })

    it("limit a token to its scopes, and what it makes to them as well", async () => {
      const token = await create({ kind: "token", role: "admin", scopes: ["api_keys:write", "me:read"] })
      expect(token.secret).to.match(/^mr_token_/)
      expect((await me(token.secret)).scopes).to.deep.equal(["api_keys:write", "me:read"])
      expect((await refusalOf(service.call("members.list", {}, { key: token.secret }))).details.reason).to.equal("missing_scope")
      expect((await refusalOf(create({ kind: "api_key" }, token.secret))).code).to.equal("permission_denied")
      expect((await refusalOf(create({ kind: "token", scopes: ["members:read"] }, token.secret))).code).to.equal("permission_denied")
      expect((await create({ kind: "token", scopes: ["me:read"] }, token.secret)).role).to.equal("member")
    })

    it("are not needed to ask who one is", async () => {
      const token = await create({ kind: "token", scopes: ["members:read"] })
      expect((await me(token.secret)).scopes).to.deep.equal(["me:read", "members:read"])
    })

    it("are refused where they make no sense", async () => {
      for (const [input, path] of [
        [{ kind: "token" }, "scopes"],
        [{ kind: "token", scopes: [] }, "scopes"],
        [{ kind: "token", scopes: ["everything"] }, "scopes.0"],
        [{ kind: "token", scopes: ["me:read", "member:read"] }, "scopes.1"],
        [{ scopes: ["me:read"] }, "scopes"],
        [{ kind: "token", scopes: ["mcp"], manager: true }, "manager"],
        [{ role: "king" }, "role"],
      ] as const) {
        const error = await refusalOf(create(input as never))
        expect(error.code).to.equal("invalid_argument")
        expect(error.details.fields?.map((field) => field.path)).to.deep.equal([path])
      }
      const unknown = await refusalOf(create({ kind: "token", scopes: ["member:read", "zzz:write", "live:read"] }))
      expect(unknown.message)
        .to.include("did you mean members:read?")
        .and.match(/scopes\.1: the scope zzz:write does not exist; areas are .*members/)
        .and.include("scopes.2: the scope live:read does not exist")
    })

    it("follow the maker: a key does what its maker may by now, and nothing once they have left", async () => {
      const organization = await anOrganization("demotion")
      const user = await aUser("demoted@example.com")
      await join(organization, user, "admin")
      const key = await keyFor(organization, user, "admin")
      expect((await me(key)).role).to.equal("admin")
      await join(organization, user, "guest")
      expect((await me(key)).role).to.equal("guest")
      const stranger = await keyFor(organization, await aUser("stranger@example.com"), "admin")
      expect((await refusalOf(me(stranger))).details.reason).to.equal("owner_not_a_member")
    })

    it("show staff, which only a user is", async () => {
      const organization = await anOrganization("staff-house")
      const user = await aUser("staff@example.com", { staff: true })
      await join(organization, user, "guest")
      expect((await me(await keyFor(organization, user, "guest"))).user?.staff).to.equal(true)
      expect((await me(await keyFor(organization, null, "guest"))).user).to.equal(null)
    })
  })

  describe("X-Organization-ID", () => {
    it("selects no other organization of the key's maker: a key acts in its own", async () => {
      const [first, second] = [await anOrganization("two-homes-a"), await anOrganization("two-homes-b")]
      const user = await aUser("commuter@example.com")
      await join(first, user, "owner")
      await join(second, user, "guest")
      const key = await keyFor(first, user, "admin")
      for (const reference of ["", first.slug, first.id, first.id.toUpperCase()])
        expect(await me(key, reference)).to.deep.include({ role: "admin" })
      for (const reference of [second.slug, second.id, second.id.toUpperCase()])
        expect((await refusalOf(me(key, reference))).details.reason).to.equal("organization_not_accessible")
    })

    it("has a member of both act in a managed organization as the manager does", async () => {
      const [agency, client] = [await anOrganization("agency-4"), await anOrganization("client-4")]
      const user = await aUser("both@example.com")
      await join(agency, user, "admin")
      await join(client, user, "owner")
      const key = await keyFor(agency, user, "admin")
      expect((await refusalOf(me(key, "client-4"))).code).to.equal("not_found")
      await service.work((work) => service.get(Organizations).setManager(work, client.id, { id: agency.id, role: "member" }))
      expect(await me(key, "client-4")).to.deep.include({ role: "member" })
    })

    it("tells an organization out of reach exactly as one that is not there", async () => {
      const beyond = await anOrganization("out-of-reach")
      const absent = "0190a000-0000-7000-8000-00000000dead"
      const errors = await Promise.all(
        [beyond.slug, beyond.id, "not-there", absent].map(async (reference) => {
          const error = await refusalOf(service.call("me.get", {}, { organization: reference }))
          expect(error.code).to.equal("not_found")
          return JSON.stringify(error.toBody()).replaceAll(reference, "<it>")
        }),
      )
      expect(new Set(errors).size).to.equal(1)
    })

    it("lets a manager key act where its organization manages, with the lesser role, until that ends", async () => {
      const [agency, client, other] = [await anOrganization("agency"), await anOrganization("client"), await anOrganization("not-a-client")]
      const setManager = (manager: { id: string; role: Role } | null) =>
        service.work((work) => service.get(Organizations).setManager(work, client.id, manager))
      await setManager({ id: agency.id, role: "member" })
      const manager = await keyFor(agency, null, "admin", true)
      const plain = await keyFor(agency, null, "admin")
      const observed = await me(manager, "client")
      expect([observed.organization.slug, observed.role, observed.user]).to.deep.equal(["client", "member", null])
      expect((await me(manager)).organization.slug).to.equal("agency")
      expect((await refusalOf(me(manager, other.slug))).code).to.equal("not_found")
      expect((await refusalOf(me(plain, "client"))).code).to.equal("not_found")
      expect((await refusalOf(me(await keyFor(client, null, "owner", true), "agency"))).code).to.equal("not_found")
      await setManager(null)
      expect((await refusalOf(me(manager, "client"))).code).to.equal("not_found")
    })

    it("leaves a key that a manager made in a client working there", async () => {
      const [agency, client] = [await anOrganization("agency-2"), await anOrganization("client-2")]
      const user = await aUser("agent@example.com")
      await join(agency, user, "owner")
      await service.work((work) => service.get(Organizations).setManager(work, client.id, { id: agency.id, role: "admin" }))
      const key = await keyFor(agency, user, "owner")
      const apiKey = await service.call<Made>(
        "api_keys.create",
        { name: "For the client", role: "admin" },
        { key, organization: "client-2" },
      )
      const observed = await me(apiKey.secret)
      expect([observed.organization.slug, observed.role]).to.deep.equal(["client-2", "admin"])
      expect((await refusalOf(me(apiKey.secret, "agency-2"))).code).to.equal("not_found")
      const managed = await service.call<Record<string, { slug: string; role?: string }[]>>("managed_organizations.list", {}, { key })
      expect(managed["organizations"]?.map(({ slug, role }) => [slug, role])).to.deep.equal([["client-2", "admin"]])
    })

    it("offers for adoption what the caller owns and nobody manages, to no manager key and no guest", async () => {
      const [agency, owned, managed] = [
        await anOrganization("agency-3"),
        await anOrganization("owned-3"),
        await anOrganization("managed-3"),
      ]
      const user = await aUser("collector@example.com")
      for (const organization of [agency, owned, managed]) await join(organization, user, "owner")
      await service.work((work) => service.get(Organizations).setManager(work, managed.id, { id: agency.id, role: "admin" }))
      const adoptable = async (key: string) =>
        (
          await service.call<{ adoptable_organizations: { slug: string }[] }>("managed_organizations.list", {}, { key })
        ).adoptable_organizations.map(({ slug }) => slug)
      expect(await adoptable(await keyFor(agency, user, "owner"))).to.deep.equal(["owned-3"])
      expect(await adoptable(await keyFor(agency, user, "guest"))).to.deep.equal([])
      expect(await adoptable(await keyFor(agency, null, "owner", true))).to.deep.equal([])
    })
  })

  describe("last use", () => {
    it("is kept, with one write a minute however many calls there are", async () => {
      const { id, secret } = await create({})
      const lastUse = async () =>
        (
          await service
            .get(Store)
            .open(collectionNamed<{ hash: string; last_used_at: string | null }>(service, "api_keys"), home.id)
            .get(id)
        )?.last_used_at
      const laterThan = (previous: string | null | undefined) =>
        until("a later use being kept", async () => {
          const lastUsedAt = await lastUse()
          return lastUsedAt !== previous && lastUsedAt
        })
      expect(await lastUse()).to.equal(null)
      await me(secret)
      const first = await laterThan(null)
      await Promise.all(Array.from({ length: 50 }, () => me(secret)))
      service.ahead = 10_000
      await me(secret)
      expect(await lastUse()).to.equal(first)
      service.ahead = 61_000
      await me(secret)
      expect(Date.parse(await laterThan(first))).to.be.greaterThan(Date.parse(first ?? ""))
    })
  })
})
