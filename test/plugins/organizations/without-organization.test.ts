// A signed-in person without an organization: the own account works, and other calls name the remedy.
import { expect } from "chai"
import { io } from "socket.io-client"
import { Store, UnitsOfWork } from "#core"
import { AuditLog, Declarations, Operations as OperationKind, PersonalAuditLog } from "#core/engine"
import type { TestHost } from "#core/testing"
import { IdempotencyRecords } from "../../../core/surface/call/idempotency.ts"
import { type User, UserSessions, Users } from "../../../plugins/platform/identity/index.ts"
import { Organizations } from "../../../plugins/platform/organizations/index.ts"
import { runMillrace } from "../../cli/command-line.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { rpc, toolsOf } from "../../surface/mcp/rpc.ts"
import { sampleOf } from "../../tier.ts"
import { until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { type Browser, moveClock, signedIn } from "../identity/people.ts"

interface Me {
  readonly organization: { readonly id: string; readonly slug: string } | null
  readonly role: string | null
  readonly organizations: readonly { readonly slug: string; readonly role: string }[]
  readonly user: { readonly email: string; readonly name: string }
}
interface Invitations {
  readonly invitations: readonly { readonly id: string; readonly role: string; readonly organization: { readonly slug: string } }[]
}

const url = "https://millrace.example.com"
const everyone = {
  MILLRACE_PUBLIC_URL: url,
  MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ organizations: { self_service: "everyone" } }),
}
const free = (host: TestHost) =>
  host
    .get(Declarations)
    .items(OperationKind)
    .filter(({ access }) => access.withoutOrganization)
const reasonOf = ({ status, body }: { status: number; body: { details?: { reason: string } } }) => [status, body.details?.reason]
const refused = [403, "no_organization"]

onBothStores("a person without an organization", ({ start }) => {
  let host: TestHost
  let count = 0
  before(async () => {
    host = await start({ env: everyone, capture: true })
  })

  const userOf = (on = host) => {
    const email = `alone-${++count}@example.com`
    return on.get(UnitsOfWork).run((work) => on.get(Users).add(work, { email, name: "Ada" }))
  }
  const person = async (on = host) => {
    const user = await userOf(on)
    return { user, browser: await signedIn(on, user) }
  }
  const me = async (browser: Browser) => (await browser.call<Me>("GET", "/v1/me")).body
  const textOf = (browser: Browser) => browser.cookies.get("__Host-mr_session") ?? ""
  const invite = async ({ email }: User) => {
    const { status, body } = await host.api("POST", "/v1/member-invitations", { email, role: "admin" })
    expect(status, JSON.stringify(body)).to.equal(200)
    const mail = await until(`the invitation of ${email}`, () => host.mails.findLast(({ to }) => to.includes(email)))
    return /#code=(mr_join_[\w-]+)/.exec(mail.text)?.[1] ?? ""
  }

  it("reaches the own account, and sees no organization", async () => {
    const { user, browser } = await person()
    const { organization, role, organizations, user: account } = await me(browser)
    expect({ organization, role, organizations }).to.deep.equal({ organization: null, role: null, organizations: [] })
    expect(account.email).to.equal(user.email)
    for (const [path, field] of [
      ["/v1/organizations", "organizations"],
      ["/v1/me/passkeys", "passkeys"],
      ["/v1/me/invitations", "invitations"],
    ] as const) {
      const { status, body } = await browser.call("GET", path)
      expect([status, body[field]], path).to.deep.equal([200, []])
    }
    const sessions = await browser.call<{ sessions: { current: boolean }[] }>("GET", "/v1/me/sessions?limit=1")
    expect(sessions.body.sessions).to.have.length(1)
    expect((await browser.call("PATCH", "/v1/me", { name: "Ada Lovelace" })).status).to.equal(200)
    expect((await me(browser)).user.name).to.equal("Ada Lovelace")
    expect((await browser.call("POST", "/v1/me/address", { email: `new-${user.email}` })).status).to.equal(200)
    expect((await browser.call("POST", "/v1/me/passkeys-options", {})).status).to.equal(200)
    expect((await browser.call("POST", "/v1/me/sessions-end-others", {})).body).to.deep.equal({ ended: 0 })
    const records = await host.get(Store).open(PersonalAuditLog).find({ "actor.user_id": user.id })
    expect(records.map(({ operation }) => operation)).to.include.members(["me.update", "me.change_address", "sessions.end_others"])
    const elsewhere = await host.get(Store).open(AuditLog, host.organization.id).find({ "actor.user_id": user.id })
    expect(elsewhere).to.deep.equal([])
  })

  it("is refused by every other operation, before the input is read", async () => {
    const { browser } = await person()
    const own = new Set(free(host))
    expect([...own].map(({ name }) => name)).to.have.members([
      ...["me.get", "me.update", "me.change_address", "me.confirm_address", "me.delete", "me.switch_organization", "me.list_invitations"],
      ...["sessions.list", "sessions.end", "sessions.end_others", "organizations.list", "organizations.create"],
      ...["passkeys.list", "passkeys.offer", "passkeys.add", "passkeys.rename", "passkeys.remove", "member_invitations.accept"],
    ])
    const others = host
      .get(Declarations)
      .items(OperationKind)
      .filter((operation) => !own.has(operation))
    for (const { name, http } of sampleOf(others)) {
      const path = http.path.replace(/\{\w+\}/g, "1")
      const answer = await browser.call(http.method, path, http.method === "GET" || http.method === "DELETE" ? undefined : { unknown: 1 })
      expect(reasonOf(answer), name).to.deep.equal(refused)
      expect(answer.body.message, name).to.include("Ask for an invitation").and.include(name)
    }
    const image = await browser.call("GET", "/v1/screenshot/images/00000000-0000-4000-8000-000000000000")
    expect(reasonOf(image)).to.deep.equal(refused)
  })

  it("finds no organization by a header", async () => {
    const { browser } = await person()
    for (const path of ["/v1/me", "/v1/datasets"]) {
      const answer = await browser.call("GET", path, undefined, { "x-organization-id": host.organization.slug })
      expect(reasonOf(answer), path).to.deep.equal([404, "organization_not_accessible"])
    }
  })

  it("opens no socket", async () => {
    const { browser } = await person()
    const socket = io(host.url, { path: "/live", auth: { token: textOf(browser) }, reconnection: false, transports: ["websocket"] })
    const error = await new Promise<Error & { data?: { details?: { reason: string } } }>((resolve) => socket.once("connect_error", resolve))
    socket.close()
    expect(error.data?.details?.reason).to.equal("no_organization")
  })

  it("reads the own account over MCP", async () => {
    const { browser } = await person()
    const connection = { url: host.url, key: textOf(browser), query: "?tools=all" }
    expect((await toolsOf(connection)).map(({ name }) => name)).to.deep.equal(["me_get", "organizations_list"])
    const result = (await rpc(connection, "tools/call", { name: "datasets_list", arguments: {} })).text
    expect(result).to.include("no_organization")
    const read = (await rpc(connection, "tools/call", { name: "organizations_list", arguments: {} })).text
    expect(read).to.include("organizations").and.not.include("no_organization")
  })

  it("uses the command", async () => {
    const { user, browser } = await person()
    const run = (...args: string[]) => runMillrace(args, { env: { MILLRACE_URL: host.url, MILLRACE_KEY: textOf(browser) } })
    expect(await run("me", "get", "--json")).to.deep.include({ code: 0 })
    expect((await run("me", "get", "--json")).out).to.include(user.email)
    const { code, err } = await run("datasets", "list")
    expect([code !== 0, err.includes("Ask for an invitation")]).to.deep.equal([true, true])
  })

  it("creates an organization and acts in it, in the same session; a repeat with the key creates no second one", async () => {
    const { user, browser } = await person()
    const create = () =>
      browser.call<{ id: string; slug: string }>("POST", "/v1/organizations", { name: "Bakery" }, { "idempotency-key": user.id })
    const [first, repeat] = [await create(), await create()]
    expect([first.status, repeat.status, repeat.body.id]).to.deep.equal([200, 200, first.body.id])
    const { organization, role, organizations } = await me(browser)
    expect([organization?.id, role, organizations.length]).to.deep.equal([first.body.id, "owner", 1])
    expect((await browser.call("GET", "/v1/datasets")).status).to.equal(200)
    expect(await host.get(Store).open(IdempotencyRecords, first.body.id).find({})).to.deep.equal([])
  })

  it("joins by the code of an invitation, and acts there in the same session", async () => {
    const { user, browser } = await person()
    const code = await invite(user)
    expect((await browser.call("POST", "/v1/member-invitations-accept", { code })).status).to.equal(200)
    expect((await me(browser)).role).to.equal("admin")
    expect((await browser.call("GET", "/v1/datasets")).status).to.equal(200)
  })

  it("joins by one of the own open invitations", async () => {
    const [ada, eve] = [await person(), await person()]
    await invite(ada.user)
    const { body } = await ada.browser.call<Invitations>("GET", "/v1/me/invitations")
    expect(body.invitations.map(({ role, organization }) => [role, organization.slug])).to.deep.equal([["admin", "default"]])
    const id = body.invitations[0]?.id
    const accept = (browser: Browser, input: object) => browser.call("POST", "/v1/member-invitations-accept", input)
    expect((await eve.browser.call<Invitations>("GET", "/v1/me/invitations")).body.invitations).to.deep.equal([])
    expect(reasonOf(await accept(eve.browser, { id }))).to.deep.equal([404, "member_invitation_not_found"])
    expect(reasonOf(await accept(ada.browser, { id, code: "mr_join_1" }))).to.deep.equal([400, "invalid_fields"])
    expect(reasonOf(await accept(ada.browser, {}))).to.deep.equal([400, "invalid_fields"])
    expect((await accept(ada.browser, { id })).status).to.equal(200)
    expect((await me(ada.browser)).role).to.equal("admin")
    expect((await ada.browser.call<Invitations>("GET", "/v1/me/invitations")).body.invitations).to.deep.equal([])
    expect(reasonOf(await accept(ada.browser, { id }))).to.deep.equal([404, "member_invitation_not_found"])
    expect((await me(eve.browser)).organization).to.equal(null)
  })

  it("proves the address before it joins without the code", async () => {
    const user = await userOf()
    const input = { user: user.id, organization: null, method: "bootstrap", device: "", address: "" } as const
    const { text } = await host.get(UnitsOfWork).run((work) => host.get(UserSessions).open(work, input))
    await invite(user)
    const invitations = await host.api<Invitations>("GET", "/v1/me/invitations", undefined, { key: text })
    const [{ id } = { id: "" }] = invitations.body.invitations
    const answer = await host.api<{ details: { reason: string } }>("POST", "/v1/member-invitations-accept", { id }, { key: text })
    expect(reasonOf(answer)).to.deep.equal([403, "sign_in_first"])
  })

  it("is without one as soon as the membership ends, and never moves to another organization by itself", async () => {
    const { user, browser } = await person()
    const organizations = host.get(Organizations)
    const works = host.get(UnitsOfWork)
    const [departed, other] = await works.run((work) =>
      ["Left", "Other"].map((name) => organizations.create(work, { name, slug: `${name}-${count}`.toLowerCase() })),
    )
    if (!departed || !other) throw new Error("no organizations")
    await works.run((work) => {
      organizations.addMember(work, departed.id, user.id, "owner")
      organizations.addMember(work, other.id, user.id, "owner")
    })
    expect((await browser.call("POST", "/v1/me/organization", { organization: departed.slug })).status).to.equal(200)
    const membership = await organizations.membership(departed.id, user.id)
    await works.run((work) => {
      work.in(collectionNamed(host, "memberships"), departed.id).remove(membership?.id ?? "")
      host.get(Users).removeOrganization(work, user.id, departed.id)
      organizations.setManager(work, departed.id, null)
    })
    const { organization, organizations: own } = await me(browser)
    expect([organization, own.map(({ slug }) => slug)]).to.deep.equal([null, [other.slug]])
    expect(reasonOf(await browser.call("POST", "/v1/datasets", { name: "Strays" }))).to.deep.equal(refused)
    expect((await browser.call("POST", "/v1/me/organization", { organization: other.slug })).status).to.equal(200)
    expect((await me(browser)).organization?.slug).to.equal(other.slug)
  })

  it("needs a fresh sign-in to delete the account, and deletes it", async () => {
    const { user, browser } = await person()
    await moveClock(host, 300_000)
    expect(reasonOf(await browser.call("DELETE", "/v1/me"))).to.deep.equal([403, "sign_in_again"])
    const fresh = await signedIn(host, user)
    expect((await fresh.call("DELETE", "/v1/me")).status).to.equal(200)
    expect(await host.get(Users).get(user.id)).to.equal(undefined)
    expect(await browser.me()).to.deep.equal([401, "session_ended"])
  })

  it("signs out", async () => {
    const { browser } = await person()
    expect((await browser.call("DELETE", "/console-session")).status).to.equal(204)
    expect(await browser.me()).to.deep.equal([401, "missing_credential"])
  })
})
