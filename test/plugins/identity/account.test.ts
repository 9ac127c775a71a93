// A person's own account over HTTP: a change of address, recovery by an owner, and deletion.
import { expect } from "chai"
import { Store, UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import { type User, Users } from "../../../plugins/platform/identity/index.ts"
import { Organizations } from "../../../plugins/platform/organizations/index.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { Authenticator } from "./authenticator.ts"
import { addUser, type Browser, moveClock, signedIn } from "./people.ts"

const url = "https://millrace.example.com"
const minute = 60_000

const reasonOf = ({ status, body }: { status: number; body: { details?: { reason: string } } }) => [status, body.details?.reason]

onBothStores("the own account", ({ start }) => {
  let host: TestHost
  let count = 0
  before(async () => {
    host = await start({ env: { MILLRACE_PUBLIC_URL: url }, capture: true })
  })

  const person = async (role: "guest" | "member" | "admin" | "owner" = "member") => {
    const email = `person-${++count}@example.com`
    const user = await addUser(host, email, role)
    return { email, user, browser: await signedIn(host, user) }
  }
  const mailsTo = (email: string) => host.mails.filter(({ to }) => to.includes(email))
  const mailTo = (email: string, subject: RegExp) =>
    until(`a mail to ${email}`, () => mailsTo(email).find((mail) => subject.test(mail.subject)) ?? false)
  const codeFor = async (email: string) => (await mailTo(email, /confirms your new address/)).subject.slice(0, 6)
  const request = (browser: Browser, email: string) => browser.call<{ expires_at: string }>("POST", "/v1/me/address", { email })
  const confirm = (browser: Browser, code: string) => browser.call("POST", "/v1/me/address/confirm", { code })
  const wrongOf = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, "0")

  it("moves to a new address with the code that this address got; other sessions end", async () => {
    const { email, user, browser } = await person()
    const [other, expected] = [await signedIn(host, user), `new-${count}@example.com`]
    expect((await request(browser, ` New-${count}@Example.com `)).status).to.equal(200)
    expect(await browser.me()).to.equal(email)
    const code = await codeFor(expected)
    expect((await confirm(browser, `${code.slice(0, 3)} ${code.slice(3)}`)).status).to.equal(200)
    expect(await browser.me()).to.equal(expected)
    expect(await other.me()).to.deep.equal([401, "session_ended"])
    expect(reasonOf(await confirm(browser, code))).to.deep.equal([400, "address_code_ended"])
    await mailTo(email, /was changed/)
    expect(mailsTo(email).map(({ subject }) => subject)).to.have.members([
      "A new address was requested for your account",
      "The address of your account was changed",
    ])
    expect(mailsTo(email).some(({ text }) => text.includes(code))).to.equal(false)
  })

  it("leaves invitations of the old address pending", async () => {
    const email = `invited-${++count}@example.com`
    const user = await host.get(UnitsOfWork).run((work) => host.get(Users).add(work, { email }))
    await secondOrganization(host, user)
    const browser = await signedIn(host, user)
    const invited = await host.api("POST", "/v1/member-invitations", { email, role: "guest" })
    expect(invited.status, JSON.stringify(invited.body)).to.equal(200)
    await request(browser, `moved-${email}`)
    expect((await confirm(browser, await codeFor(`moved-${email}`))).status).to.equal(200)
    expect(JSON.stringify((await host.api("GET", "/v1/member-invitations")).body)).to.include(`"${email}"`)
  })

  it("keeps its address while the code is wrong, five times or ten minutes late", async () => {
    const { email, browser } = await person()
    const expected = `late-${count}@example.com`
    await request(browser, expected)
    const code = await codeFor(expected)
    for (const remaining of [4, 3, 2, 1]) {
      const { body } = await confirm(browser, wrongOf(code))
      expect([body.details.reason, body.details.tries_left]).to.deep.equal(["address_code_wrong", remaining])
    }
    expect(reasonOf(await confirm(browser, wrongOf(code)))).to.deep.equal([400, "address_code_ended"])
    expect(reasonOf(await confirm(browser, code))).to.deep.equal([400, "address_code_ended"])
    const again = await person()
    await request(again.browser, `too-${expected}`)
    const second = await codeFor(`too-${expected}`)
    expect(reasonOf(await confirm(browser, second))).to.deep.equal([400, "address_code_ended"])
    await moveClock(host, 10 * minute)
    expect(reasonOf(await confirm(again.browser, second))).to.deep.equal([400, "address_code_ended"])
    expect([await browser.me(), await again.browser.me()]).to.deep.equal([email, again.email])
  })

  it("counts each of many wrong codes at once", async () => {
    const { browser } = await person()
    const expected = `many-${count}@example.com`
    await request(browser, expected)
    const code = await codeFor(expected)
    const answers = await Promise.all(Array.from({ length: 12 }, () => confirm(browser, wrongOf(code))))
    const counted = answers.filter(({ body }) => body.details.reason === "address_code_wrong")
    expect(counted.map(({ body }) => body.details.tries_left)).to.have.members([4, 3, 2, 1])
    expect(reasonOf(await confirm(browser, code))).to.deep.equal([400, "address_code_ended"])
  })

  it("answers the same for the address of another user, which gets no code", async () => {
    const [ada, eve] = [await person(), await person()]
    const answer = await request(eve.browser, ada.email)
    const free = await request(eve.browser, `free-${count}@example.com`)
    expect([answer.status, Object.keys(answer.body)]).to.deep.equal([free.status, Object.keys(free.body)])
    await request(eve.browser, ada.email)
    expect((await confirm(eve.browser, "123456")).body.details).to.include({ reason: "address_code_wrong", tries_left: 4 })
    await until("three notices", () => mailsTo(eve.email).length === 3)
    expect(mailsTo(ada.email)).to.deep.equal([])
    expect(await ada.browser.me()).to.equal(ada.email)
  })

  it("asks for a fresh sign-in, and for at most five new addresses an hour", async () => {
    const { user, browser } = await person()
    for (let n = 0; n < 5; n++) expect((await request(browser, `n${n}-${count}@example.com`)).status).to.equal(200)
    expect(reasonOf(await request(browser, `n5-${count}@example.com`))).to.deep.equal([429, "too_many_sign_in_codes"])
    await moveClock(host, 5 * minute)
    for (const [method, path, body] of [
      ["POST", "/v1/me/address", { email: "x@example.com" }],
      ["DELETE", "/v1/me"],
    ] as const) {
      expect(reasonOf(await browser.call(method, path, body)), path).to.deep.equal([403, "sign_in_again"])
      const byKey = await host.api<{ details: { reason: string } }>(method, path, body, { key: host.adminKey })
      expect(reasonOf(byKey), path).to.deep.equal([403, "not_a_person"])
    }
    expect(await host.get(Users).get(user.id)).to.not.equal(undefined)
  })

  it("is recovered by an owner: sessions and passkeys end, a mail goes out, and the owner gets no session", async () => {
    const [owner, admin, { email, user, browser }] = [await person("owner"), await person("admin"), await person()]
    await addPasskey(host, user, browser)
    const recover = (by: Browser, input: object) =>
      by.call<{ ended_sessions: number; removed_passkeys: number }>("POST", "/v1/members-recover", input)
    expect(reasonOf(await recover(admin.browser, { email }))).to.deep.equal([403, "role_too_low"])
    expect(reasonOf(await recover(owner.browser, { email: "nobody@example.com" }))).to.deep.equal([404, "member_not_found"])
    expect(reasonOf(await recover(owner.browser, {}))).to.deep.equal([400, "invalid_fields"])
    const answer = await recover(owner.browser, { user_id: user.id })
    expect(answer.status).to.equal(200)
    expect(answer.body).to.include({ ended_sessions: 1, removed_passkeys: 1 })
    expect(await browser.me()).to.deep.equal([401, "session_ended"])
    expect(await host.get(Store).open(collectionNamed(host, "passkeys")).find({ user_id: user.id })).to.deep.equal([])
    expect((await mailTo(email, /sign-ins were reset/)).text)
      .to.include(`${url}/console`)
      .and.include("An owner of")
    expect(await owner.browser.me()).to.equal(owner.email)
    const { body } = await host.api("GET", "/v1/audit-log?operation=members.recover", undefined, { key: host.adminKey })
    expect(JSON.stringify(body)).to.include(user.id)
  })

  it("is deleted with its memberships, keys, sessions and passkeys; the address can join again", async () => {
    const { email, user, browser } = await person("admin")
    const second = await secondOrganization(host, user)
    const key = await browser.call<{ secret: string }>("POST", "/v1/api-keys", { name: "Own" })
    await addPasskey(host, user, browser)
    const other = await signedIn(host, user)
    expect((await browser.call("DELETE", "/v1/me")).status).to.equal(200)
    const me = await host.api<{ details: { reason: string } }>("GET", "/v1/me", undefined, { key: key.body.secret })
    expect(reasonOf(me)).to.deep.equal([401, "credential_revoked"])
    for (const ended of [browser, other]) expect(await ended.me()).to.deep.equal([401, "session_ended"])
    expect(await host.get(Store).open(collectionNamed(host, "passkeys")).find({ user_id: user.id })).to.deep.equal([])
    expect(await host.get(Store).open(collectionNamed(host, "users")).get(user.id)).to.equal(undefined)
    for (const id of [second, host.organization.id]) expect(await host.get(Organizations).membership(id, user.id)).to.equal(undefined)
    const stored = await host
      .get(Store)
      .open(collectionNamed<{ device: string; address: string; end: string }>(host, "user_sessions"))
      .find({ user_id: user.id })
    expect(stored.map(({ device, address, end }) => [device, address, end])).to.deep.equal([
      ["", "", "ended"],
      ["", "", "ended"],
    ])
    await mailTo(email, /was deleted/)
    const again = await addUser(host, email)
    expect(again.id).to.not.equal(user.id)
  })

  it("stays while its person is the last owner of an organization, and names the organizations", async () => {
    const { email, user, browser } = await person("admin")
    const only = await secondOrganization(host, user, "owner", "Lone Star")
    const refused = await browser.call("DELETE", "/v1/me")
    expect(reasonOf(refused)).to.deep.equal([400, "last_owner"])
    expect(refused.body.message).to.include('"Lone Star"').and.not.include("Default")
    expect(await browser.me()).to.equal(email)
    const heir = await person()
    await host.get(UnitsOfWork).run((work) => host.get(Organizations).addMember(work, only, heir.user.id, "owner"))
    expect((await browser.call("DELETE", "/v1/me")).status).to.equal(200)
    expect(await browser.me()).to.deep.equal([401, "session_ended"])
  })
})

async function addPasskey(host: TestHost, user: User, browser: Browser): Promise<void> {
  const { body } = await browser.call<{ options: Parameters<Authenticator["create"]>[0] }>("POST", "/v1/me/passkeys-options", {})
  const { answer } = new Authenticator(url).create(body.options)
  expect((await browser.call("POST", "/v1/me/passkeys", { name: "Laptop", answer })).status).to.equal(200)
  expect(await host.get(Store).open(collectionNamed(host, "passkeys")).find({ user_id: user.id })).to.have.length(1)
}

let organizationCount = 0
async function secondOrganization(host: TestHost, { id }: User, role: "admin" | "owner" = "admin", name = "Second"): Promise<string> {
  const slug = `second-${++organizationCount}-${id.slice(0, 8)}`
  return await host.get(UnitsOfWork).run((work) => {
    const organization = host.get(Organizations).create(work, { name, slug })
    host.get(Organizations).addMember(work, organization.id, id, role)
    return organization.id
  })
}
