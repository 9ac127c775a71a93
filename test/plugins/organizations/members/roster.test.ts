// Members after joining: roles, removal and leaving, for every kind of caller.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import type { Role } from "#core/engine"
import type { TestHost } from "#core/testing"
import { Users } from "../../../../plugins/platform/identity/index.ts"
import { ApiKeys, Organizations } from "../../../../plugins/platform/organizations/index.ts"
import { onStoresInTurn } from "../../../pipeline/stores.ts"

interface Refusal {
  readonly code: string
  readonly details: { readonly reason?: string }
}
interface Person {
  readonly id: string
  readonly key: string
}
interface Departed {
  readonly ended_keys: number
  readonly left: { readonly kind: string; readonly id: string; readonly operation: string }[]
}

onStoresInTurn("members", ({ start }) => {
  let host: TestHost
  let count = 0
  before(async () => {
    host = await start()
  })

  /** Creates a person of the organization, with a key of the same role. */
  const person = (organization: string, role: Role, name = `p${++count}`): Promise<Person> =>
    host.get(UnitsOfWork).run((work) => {
      const { id } = host.get(Organizations).addUser(work, { email: `${name}@example.com`, name })
      host.get(Organizations).addMember(work, organization, id, role)
      return { id, key: host.get(ApiKeys).mint(work, organization, { name, kind: "api_key", role, scopes: null, user: id }).text }
    })
  const organization = async (slug: string) => {
    const { id } = await host.get(UnitsOfWork).run((work) => host.get(Organizations).create(work, { name: slug, slug }))
    return { id, owner: await person(id, "owner") }
  }
  const setRole = (by: Person, user: string, role: string) => host.api<Refusal>("PATCH", `/v1/members/${user}`, { role }, { key: by.key })
  const remove = (by: Person, user: string) => host.api<Departed & Refusal>("DELETE", `/v1/members/${user}`, undefined, { key: by.key })
  const leave = (by: Person) => host.api<Refusal>("POST", "/v1/members-leave", {}, { key: by.key })
  const me = async (key: string) => {
    const { status, body } = await host.api<{ role: string } & Refusal>("GET", "/v1/me", undefined, { key })
    return status === 200 ? body.role : `${status} ${body.details.reason}`
  }
  const roleOf = async (organization: string, user: string) => (await host.get(Organizations).membership(organization, user))?.role
  const reasonOf = ({ status, body }: { status: number; body: Refusal }) => [status, body.details?.reason]

  it("get another role at once, also with the keys that they have", async () => {
    const { id, owner } = await organization("roles")
    const bob = await person(id, "admin")
    expect((await setRole(owner, bob.id, "member")).status).to.equal(200)
    expect(await me(bob.key)).to.equal("member")
    expect((await setRole(owner, bob.id, "guest")).body).to.deep.equal({ user_id: bob.id, role: "guest" })
    expect(await me(bob.key)).to.equal("guest")
    expect((await setRole(owner, bob.id, "owner")).status).to.equal(200)
    expect(await me(bob.key)).to.equal("admin")
  })

  it("cannot raise themselves or others above their own role, or touch owners as admins", async () => {
    const { id, owner } = await organization("escalation")
    const [admin, other, member] = [await person(id, "admin"), await person(id, "admin"), await person(id, "member")]
    for (const attempt of [
      setRole(admin, admin.id, "owner"),
      setRole(admin, member.id, "owner"),
      setRole(admin, owner.id, "admin"),
      setRole(admin, owner.id, "owner"),
      remove(admin, owner.id),
      setRole(member, member.id, "admin"),
      remove(member, admin.id),
    ])
      expect(reasonOf(await attempt)).to.deep.equal([403, "role_too_low"])
    expect((await setRole(admin, other.id, "member")).status).to.equal(200)
    const unknown = await setRole(admin, admin.id, "root")
    expect(unknown.status).to.equal(400)
    const foreign = (await organization("escalation-2")).owner
    for (const attempt of [setRole(foreign, member.id, "admin"), remove(foreign, member.id)])
      expect(reasonOf(await attempt)).to.deep.equal([404, "member_not_found"])
    expect(await me(owner.key)).to.equal("owner")
  })

  it("keep their last owner against leaving, removal and demotion", async () => {
    const { id, owner } = await organization("last")
    await person(id, "admin")
    for (const attempt of [leave(owner), remove(owner, owner.id), setRole(owner, owner.id, "admin")])
      expect(reasonOf(await attempt)).to.deep.equal([400, "last_owner"])
    const second = await person(id, "owner")
    expect((await leave(owner)).status).to.equal(200)
    expect(reasonOf(await leave(second))).to.deep.equal([400, "last_owner"])
  })

  it("keep one owner of two who remove or demote each other at once", async () => {
    for (let round = 0; round < 6; round++) {
      const { id, owner } = await organization(`duel-${round}`)
      const rival = await person(id, "owner")
      const by = (first: Person, second: Person) => (round % 2 === 0 ? remove(first, second.id) : setRole(first, second.id, "member"))
      const answers = await Promise.all([by(owner, rival), by(rival, owner)])
      expect(answers.filter(({ status }) => status === 200).length, JSON.stringify(answers.map(({ body }) => body))).to.equal(1)
      const roles = [await me(owner.key), await me(rival.key)]
      expect(roles.filter((role) => role === "owner").length, roles.join()).to.equal(1)
    }
  })

  it("lose every key in the organization, and no other, and get no role of before by joining again", async () => {
    const { id, owner } = await organization("removal")
    const bob = await person(id, "admin")
    const token = await host.api<{ secret: string }>(
      "POST",
      "/v1/api-keys",
      { name: "t", kind: "token", scopes: ["datasets:read"] },
      { key: bob.key },
    )
    const service = await host
      .get(UnitsOfWork)
      .run((work) => host.get(ApiKeys).mint(work, id, { name: "s", kind: "api_key", role: "member", scopes: null, user: null }).text)
    const elsewhere = await organization("removal-2")
    const otherKey = await host.get(UnitsOfWork).run((work) => {
      host.get(Organizations).addMember(work, elsewhere.id, bob.id, "member")
      return host.get(ApiKeys).mint(work, elsewhere.id, { name: "e", kind: "api_key", role: "member", scopes: null, user: bob.id }).text
    })
    const removed = await remove(owner, bob.id)
    expect([removed.status, removed.body.ended_keys, removed.body.left]).to.deep.equal([200, 2, []])
    expect(await me(bob.key)).to.equal("401 credential_revoked")
    expect(await me(token.body.secret)).to.equal("401 credential_revoked")
    expect(await me(service)).to.equal("member")
    expect(await me(otherKey)).to.equal("member")
    expect(reasonOf(await remove(owner, bob.id))).to.deep.equal([404, "member_not_found"])
    await host.get(UnitsOfWork).run((work) => host.get(Organizations).addMember(work, id, bob.id, "admin"))
    expect(await me(bob.key)).to.equal("401 credential_revoked")
    const members = await host.api<{ members: { user_id: string }[] }>("GET", "/v1/members", undefined, { key: owner.key })
    expect(members.body.members.map(({ user_id }) => user_id)).to.include(bob.id)
  })

  it("leave no key that is made during their removal", async () => {
    const { id, owner } = await organization("late-key")
    for (let round = 0; round < 5; round++) {
      const bob = await person(id, "admin")
      const make = () => host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "late" }, { key: bob.key })
      const [created, removed] = await Promise.all([make(), remove(owner, bob.id)])
      if (removed.status === 409) expect((await remove(owner, bob.id)).status).to.equal(200)
      await host.get(UnitsOfWork).run((work) => host.get(Organizations).addMember(work, id, bob.id, "member"))
      if (created.status === 200) expect(await me(created.body.secret)).to.equal("401 credential_revoked")
    }
  })

  it("leave their heartbeats paused for another member", async () => {
    const { id, owner } = await organization("hearts")
    const bob = await person(id, "admin")
    const heartbeat = { name: "Digest", kind: "script", interval_minutes: 60, script_js: "function script() { return null }" }
    const response = await host.api<{ id: string }>("POST", "/v1/heartbeats", heartbeat, { key: bob.key })
    expect(response.status, JSON.stringify(response.body)).to.equal(200)
    const answer = await host.api<{ id: string }>("POST", "/v1/heartbeats", { ...heartbeat, name: "Own" }, { key: owner.key })
    const { body } = await remove(owner, bob.id)
    expect(body.left).to.deep.equal([{ kind: "heartbeat", id: response.body.id, name: "Digest", operation: "heartbeats.resume" }])
    const read = async (heartbeat: string) =>
      (await host.api<{ state: string; paused_reason: string }>("GET", `/v1/heartbeats/${heartbeat}`, undefined, { key: owner.key })).body
    expect((await read(answer.body.id)).state).to.equal("active")
    expect(await read(response.body.id)).to.include({ state: "paused" })
    expect((await read(response.body.id)).paused_reason).to.include("left the organization")
    await host.api("POST", `/v1/heartbeats/${response.body.id}/resume`, {}, { key: owner.key })
    expect((await read(response.body.id)).state).to.equal("active")
  })

  it("leave their private connections paused for another admin, and the shared ones at work", async () => {
    const { id, owner } = await organization("connections")
    const [bob, eve] = [await person(id, "admin"), await person(id, "admin")]
    const member = await person(id, "member")
    const connect = async (name: string, share_with_org: boolean) => {
      const credentials = { base_url: "https://api.example.com/v1", test_path: "/me" }
      const input = { app: "http", name, credentials, share_with_org, return_url: "" }
      const response = await host.api<{ integration_id: string }>("POST", "/v1/integrations-connect", input, { key: bob.key })
      expect(response.status, JSON.stringify(response.body)).to.equal(200)
      return response.body.integration_id
    }
    const [own, shared] = [await connect("Own", false), await connect("Shared", true)]
    const call = <T = Refusal>(by: Person, method: string, path: string, body?: unknown) =>
      host.api<T>(method, `/v1/integrations/${path}`, body, { key: by.key })
    const removed = await remove(owner, bob.id)
    expect(removed.body.left).to.deep.equal([{ kind: "integration", id: own, name: "Own", operation: "integrations.hand_over" }])
    const paused = async (connection: string) => (await call<{ paused: boolean }>(owner, "GET", connection)).body.paused
    expect([await paused(own), await paused(shared)]).to.deep.equal([true, false])
    for (const refused of [await call(owner, "PATCH", own, { share_with_org: true }), await call(owner, "POST", `${own}/test`, {})])
      expect(reasonOf(refused)).to.deep.equal([400, "integration_paused"])
    expect(reasonOf(await call(eve, "POST", `${shared}/hand-over`, {}))).to.deep.equal([404, "integration_not_found"])
    expect(reasonOf(await call(eve, "POST", `${own}/hand-over`, { user_id: member.id }))).to.deep.equal([404, "member_not_found"])
    expect(reasonOf(await call(member, "POST", `${own}/hand-over`, {}))).to.deep.equal([403, "role_too_low"])
    expect((await call(owner, "POST", `${own}/hand-over`, { user_id: eve.id })).status).to.equal(200)
    expect(await paused(own)).to.equal(false)
    expect((await call(eve, "GET", own)).status).to.equal(200)
    expect((await call(eve, "PATCH", own, { share_with_org: true })).status).to.equal(200)
  })

  it("leave the organization when their account is deleted, unless they own it alone", async () => {
    const { id, owner } = await organization("deleted")
    const bob = await person(id, "admin")
    const users = host.get(Users)
    const deletion = (user: string) =>
      host.get(UnitsOfWork).run(async (work) => {
        const match = await users.get(user)
        if (match) await users.remove(work, match)
      })
    await deletion(bob.id)
    expect([await me(bob.key), await roleOf(id, bob.id)]).to.deep.equal(["401 credential_revoked", undefined])
    const refused = await deletion(owner.id).catch((error: { details?: { reason?: string } }) => error.details?.reason)
    expect([refused, await me(owner.key)]).to.deep.equal(["last_owner", "owner"])
  })

  it("of a client do not change through the management link", async () => {
    const [agency, shop] = [await organization("agency"), await organization("shop")]
    const bob = await person(shop.id, "guest")
    const manager = await host.api<{ secret: string }>(
      "POST",
      "/v1/api-keys",
      { name: "m", role: "owner", manager: true },
      { key: agency.owner.key },
    )
    const invited = await host.api<{ code: string }>(
      "POST",
      "/v1/managed-organization-invitations",
      { role: "admin" },
      { key: agency.owner.key },
    )
    await host.api("POST", "/v1/managed-organizations-accept", { code: invited.body.code }, { key: shop.owner.key })
    const inside = { key: manager.body.secret, headers: { "x-organization-id": "shop" } }
    const child = await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "c", role: "admin" }, inside)
    for (const options of [inside, { key: child.body.secret }])
      for (const [method, path, body] of [
        ["PATCH", `/v1/members/${bob.id}`, { role: "admin" }],
        ["DELETE", `/v1/members/${bob.id}`, undefined],
        ["POST", "/v1/members-leave", {}],
      ] as const)
        expect(reasonOf(await host.api<Refusal>(method, path, body, options)), `${method} ${path}`).to.deep.equal([403, "acts_for_client"])
  })

  it("become owners by an offer and their consent, and the old owner an admin unless it is to stay", async () => {
    for (const stay_owner of [false, true]) {
      const { id, owner } = await organization(`transfer-${stay_owner}`)
      const [bob, other] = [await person(id, "member"), await person(id, "admin")]
      const offer = (by: Person, user_id: string) =>
        host.api<Refusal>("POST", "/v1/ownership-offers", { user_id, stay_owner }, { key: by.key })
      const accept = (by: Person) => host.api<Refusal>("POST", "/v1/ownership-accept", {}, { key: by.key })
      expect(reasonOf(await offer(other, other.id))).to.deep.equal([403, "role_too_low"])
      expect(reasonOf(await offer(owner, owner.id))).to.deep.equal([400, "invalid_fields"])
      expect(reasonOf(await accept(bob))).to.deep.equal([404, "ownership_offer_not_found"])
      expect((await offer(owner, bob.id)).status).to.equal(200)
      expect(reasonOf(await accept(other))).to.deep.equal([404, "ownership_offer_not_found"])
      expect(await roleOf(id, bob.id)).to.equal("member")
      const withdraw = (by: Person) => host.api<Refusal>("DELETE", `/v1/ownership-offers/${bob.id}`, undefined, { key: by.key })
      expect(reasonOf(await withdraw(other))).to.deep.equal([404, "ownership_offer_not_found"])
      expect((await withdraw(bob)).status).to.equal(200)
      expect(reasonOf(await accept(bob))).to.deep.equal([404, "ownership_offer_not_found"])
      await offer(owner, bob.id)
      expect((await accept(bob)).body).to.deep.equal({ user_id: bob.id, role: "owner" })
      expect([await roleOf(id, bob.id), await roleOf(id, owner.id)]).to.deep.equal(["owner", stay_owner ? "owner" : "admin"])
      expect((await accept(bob)).status).to.equal(404)
    }
  })

  it("cannot take ownership from a person who lost it", async () => {
    const { id, owner } = await organization("stale-offer")
    const service = await host
      .get(UnitsOfWork)
      .run((work) => host.get(ApiKeys).mint(work, id, { name: "s", kind: "api_key", role: "owner", scopes: null, user: null }).text)
    expect(reasonOf(await host.api<Refusal>("POST", "/v1/ownership-accept", {}, { key: service }))).to.deep.equal([
      403,
      "credential_without_user",
    ])
    const [bob, rival] = [await person(id, "member"), await person(id, "owner")]
    await host.api("POST", "/v1/ownership-offers", { user_id: bob.id }, { key: owner.key })
    expect((await setRole(rival, owner.id, "member")).status).to.equal(200)
    const response = await host.api<Refusal>("POST", "/v1/ownership-accept", {}, { key: bob.key })
    expect(reasonOf(response)).to.deep.equal([404, "ownership_offer_not_found"])
    expect(await roleOf(id, bob.id)).to.equal("member")
  })
})
