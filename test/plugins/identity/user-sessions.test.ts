// Interactive sessions: the caller, the organizations of a session, and the end of a session.
import { expect } from "chai"
import { io } from "socket.io-client"
import { UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { type User, UserSessions, Users } from "../../../plugins/platform/identity/index.ts"
import { Organizations } from "../../../plugins/platform/organizations/index.ts"

interface Me {
  readonly organization: { readonly slug: string } | null
  readonly role: string
  readonly credential: { readonly id: string; readonly kind: string }
  readonly user: { readonly email: string }
  readonly sign_in: object | null
  readonly organizations: readonly { readonly slug: string; readonly role: string }[]
  readonly details: { readonly reason: string }
}

interface Listed {
  readonly id: string
  readonly current: boolean
}

const hour = 3_600_000

describe("interactive sessions", () => {
  let host: TestHost
  let ada: User
  before(async () => {
    host = await testHost()
    const organizations = host.get(Organizations)
    const first = await organizations.first()
    ada = await host.get(UnitsOfWork).run((work) => {
      const user = host.get(Users).add(work, { email: " Ada@Example.com ", name: "Ada" })
      organizations.addMember(work, first.id, user.id, "admin")
      const other = organizations.create(work, { name: "Other", slug: "other" })
      organizations.addMember(work, other.id, user.id, "guest")
      organizations.create(work, { name: "Strangers", slug: "strangers" })
      return user
    })
  })
  after(() => host.stop())

  const open = (user = ada, organization: string | null = null) =>
    host
      .get(UnitsOfWork)
      .run((work) => host.get(UserSessions).open(work, { user: user.id, organization, method: "email_code", device: "", address: "" }))
  const me = async (key: string, organization?: string) => {
    const headers = organization === undefined ? {} : { "x-organization-id": organization }
    const { status, body } = await host.api<Me>("GET", "/v1/me", undefined, { key, headers })
    return { status, body, seen: status === 200 ? [body.organization?.slug, body.role] : [status, body.details.reason] }
  }

  it("act as their user, in the organization that each call names", async () => {
    const { text, session } = await open()
    const { body, seen: received } = await me(text)
    expect(received).to.deep.equal(["default", "admin"])
    expect([body.credential.id, body.credential.kind, body.user.email]).to.deep.equal([session.id, "session", "ada@example.com"])
    expect((await me(text, "other")).seen).to.deep.equal(["other", "guest"])
    for (const beyond of ["strangers", "missing"]) expect((await me(text, beyond)).seen).to.deep.equal([404, "organization_not_accessible"])
    const other = await host.get(Organizations).bySlug("other")
    expect((await me((await open(ada, other?.id ?? "")).text)).seen).to.deep.equal(["other", "guest"])
  })

  it("switch their organization until the next switch, and show the organizations of the person", async () => {
    const { text } = await open()
    const { body } = await host.api<Me>("GET", "/v1/me", undefined, { key: text })
    expect(body.organizations.map(({ slug, role }) => [slug, role])).to.deep.equal([
      ["default", "admin"],
      ["other", "guest"],
    ])
    expect(body.sign_in).to.include({ method: "email_code", is_fresh: true })
    const change = (organization: string, key = text) => host.api<Me>("POST", "/v1/me/organization", { organization }, { key })
    expect((await change("other")).body).to.deep.include({ role: "guest" })
    expect((await me(text)).seen).to.deep.equal(["other", "guest"])
    expect((await me(text, "default")).seen).to.deep.equal(["default", "admin"])
    for (const beyond of ["strangers", "missing"])
      expect((await change(beyond)).body.details.reason).to.equal("organization_not_accessible")
    expect((await me(text)).seen).to.deep.equal(["other", "guest"])
    expect((await change("other", host.adminKey)).body.details.reason).to.equal("not_a_person")
    const own = await host.api<Me>("GET", "/v1/me")
    expect([own.body.sign_in, own.body.organizations.map(({ slug }) => slug)]).to.deep.equal([null, ["default"]])
  })

  it("are listed and ended by their person alone", async () => {
    await host.get(UnitsOfWork).run((work) => host.get(UserSessions).endAllOf(work, ada.id))
    const [first, second, third] = [await open(), await open(), await open()]
    const list = async (key: string) => (await host.api<{ sessions: Listed[] }>("GET", "/v1/me/sessions", undefined, { key })).body.sessions
    await me(first.text)
    expect((await list(first.text)).map(({ id, current }) => [id, current])).to.deep.equal([
      [third.session.id, false],
      [second.session.id, false],
      [first.session.id, true],
    ])
    const end = (key: string, id: string) => host.api<Me>("DELETE", `/v1/me/sessions/${id}`, undefined, { key })
    expect((await end(host.adminKey, second.session.id)).body.details.reason).to.equal("session_not_found")
    expect((await end(first.text, second.session.id)).status).to.equal(200)
    expect((await me(second.text)).seen).to.deep.equal([401, "session_ended"])
    const others = await host.api<{ ended: number }>("POST", "/v1/me/sessions-end-others", {}, { key: first.text })
    expect(others.body.ended).to.equal(1)
    expect((await list(first.text)).map(({ id }) => id)).to.deep.equal([first.session.id])
    expect((await end(first.text, first.session.id)).status).to.equal(200)
    expect((await me(first.text)).status).to.equal(401)
    const service = await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "Manager", manager: true })
    const refused = await host.api<Me>("GET", "/v1/me/sessions", undefined, { key: service.body.secret })
    expect(refused.body.details.reason).to.equal("no_person")
  })

  it("end with their sockets", async () => {
    const { text, session } = await open()
    const socket = io(host.url, { path: "/live", transports: ["websocket"], auth: { token: text }, reconnection: false, forceNew: true })
    await new Promise((resolve, reject) => socket.once("connect", () => resolve(undefined)).once("connect_error", reject))
    const closed = new Promise((resolve) => socket.once("disconnect", resolve))
    await host.api("DELETE", `/v1/me/sessions/${session.id}`, undefined, { key: text })
    expect(await closed).to.equal("io server disconnect")
    socket.close()
  })

  it("end after twelve idle hours, and after thirty days in any case", async () => {
    const { text } = await open()
    for (let half = 0; half < 59; half++) {
      host.clock.move(11 * hour)
      expect((await me(text)).status, `after ${(half + 1) * 11} h`).to.equal(200)
    }
    host.clock.move(12 * hour)
    expect((await me(text)).seen).to.deep.equal([401, "session_ended"])
    const used = await open()
    for (let half = 0; half < 65; half++) {
      host.clock.move(11 * hour)
      await me(used.text)
    }
    host.clock.move(6 * hour)
    expect((await me(used.text)).seen).to.deep.equal([401, "session_ended"])
  })

  it("end at once on request, one or all but one, and a second end changes nothing", async () => {
    const [first, second, third] = [await open(), await open(), await open()]
    for (const { text } of [first, second, third]) expect((await me(text)).status).to.equal(200)
    const sessions = host.get(UserSessions)
    for (let n = 0; n < 2; n++) await host.get(UnitsOfWork).run((work) => sessions.end(work, first.session, "signed_out"))
    expect((await me(first.text)).seen).to.deep.equal([401, "session_ended"])
    expect(await host.get(UnitsOfWork).run((work) => sessions.endAllOf(work, ada.id, { except: third.session.id }))).to.be.at.least(1)
    expect((await me(second.text)).seen).to.deep.equal([401, "session_ended"])
    expect((await me(third.text)).status).to.equal(200)
  })

  it("end all, also more than a thousand", async () => {
    const user = await host.get(UnitsOfWork).run((work) => host.get(Users).add(work, { email: "many@example.com" }))
    const sessions = host.get(UserSessions)
    const input = { user: user.id, organization: null, method: "email_code", device: "", address: "" } as const
    const opened = await host.get(UnitsOfWork).run((work) => Array.from({ length: 1_002 }, () => sessions.open(work, input)))
    const [first, last] = [opened[0], opened.at(-1)]
    expect(await host.get(UnitsOfWork).run((work) => sessions.endAllOf(work, user.id, { except: first?.session.id ?? "" }))).to.equal(1_001)
    expect((await me(last?.text ?? "")).seen).to.deep.equal([401, "session_ended"])
  })

  it("get a new text when their user signs in again", async () => {
    const { text, session } = await open()
    host.clock.move(hour)
    const sessions = host.get(UserSessions)
    expect(sessions.signInOf(session).isFresh).to.equal(false)
    const again = await host.get(UnitsOfWork).run((work) => sessions.refresh(work, session, "passkey"))
    expect(sessions.signInOf(again.session)).to.include({ method: "passkey", isFresh: true })
    expect((await me(text)).status).to.equal(401)
    expect((await me(again.text)).body.credential.id).to.equal(session.id)
  })

  it("end with the deletion of their user", async () => {
    const user = await host.get(UnitsOfWork).run((work) => host.get(Users).add(work, { email: "eve@example.com" }))
    const { text } = await open(user)
    expect((await me(text)).seen).to.deep.equal([undefined, null])
    const first = await host.get(Organizations).first()
    await host.get(UnitsOfWork).run((work) => host.get(Organizations).addMember(work, first.id, user.id, "guest"))
    expect((await me(text)).status).to.equal(200)
    await host.get(UnitsOfWork).run((work) => host.get(Users).remove(work, user))
    expect((await me(text)).seen).to.deep.equal([401, "session_ended"])
  })

  it("create keys for five minutes after the sign-in; a key creates keys at any time", async () => {
    const create = (key: string) => host.api<Me>("POST", "/v1/api-keys", { name: "Reports", role: "guest" }, { key })
    const { text } = await open()
    const { status, body } = await create(text)
    expect(status).to.equal(200)
    host.clock.move(300_000)
    const late = await create(text)
    expect([late.status, late.body.details.reason]).to.deep.equal([403, "sign_in_again"])
    const revoke = (key: string) => host.api<Me>("POST", `/v1/api-keys/${(body as unknown as { id: string }).id}/revoke`, {}, { key })
    expect((await revoke(text)).status).to.equal(403)
    expect((await revoke(host.adminKey)).status).to.equal(200)
    expect((await create(host.adminKey)).status).to.equal(200)
  })
})
