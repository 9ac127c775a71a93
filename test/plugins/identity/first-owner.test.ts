// The first owner: name and address by an operator's link or by the first key. Also the command's links.
import { expect } from "chai"
import { Settings } from "#core"
import { type TestHost, testHost } from "#core/testing"
import identity from "../../../plugins/platform/identity/index.ts"
import { onStoresInTurn } from "../../pipeline/stores.ts"
import { patiently, until } from "../../waiting.ts"
import { listenForMail, type MailServer } from "../email/mail-server.ts"
import { addUser, Browser, mailedTo } from "./people.ts"

interface Me {
  readonly user: { readonly email: string }
  readonly sign_in: { readonly method: string } | null
  readonly role: string
}

/** Returns the token of a link printed by the command. */
function linkOf(host: TestHost, options: { readonly owner?: boolean; readonly email?: string }): string {
  const command = identity.commands?.find(({ name }) => name === "sign-in-link")
  const printed = command?.run(options, { config: () => host.get(Settings) } as never)
  return /#(?:code|link)=(\S+)$/.exec(String(printed))?.[1] ?? ""
}

const owner = { name: "Ada Lovelace", email: "Ada@Example.com" }

onStoresInTurn("first owner", ({ start }) => {
  let host: TestHost
  beforeEach(async () => {
    host = await start()
  })

  const members = async () =>
    (await patiently(() => host.api<{ members: { email: string; name: string }[] }>("GET", "/v1/members"))).body.members.map(
      ({ email, name }) => [email, name],
    )

  it("has no address before the link, which names the owner and opens a session once", async () => {
    expect(await members()).to.deep.equal([["", ""]])
    const [browser, code] = [new Browser(host.url), linkOf(host, { owner: true })]
    expect(await browser.enter({ code })).to.deep.equal([400, "owner_unnamed"])
    expect(await browser.enter({ code, ...owner })).to.equal("in")
    const { body } = await browser.call<Me>("GET", "/v1/me")
    expect([body.user.email, body.role, body.sign_in?.method]).to.deep.equal(["ada@example.com", "owner", "bootstrap"])
    expect(await members()).to.deep.equal([["ada@example.com", "Ada Lovelace"]])
    expect(await new Browser(host.url).enter({ code, ...owner })).to.deep.equal([401, "sign_in_code_unknown"])
    expect(await new Browser(host.url).enter({ code: linkOf(host, { owner: true }), ...owner })).to.deep.equal([
      401,
      "sign_in_code_unknown",
    ])
  })

  it("is named once by two concurrent links", async () => {
    const names = [0, 1, 2, 3].map((n) =>
      new Browser(host.url).enter({ code: linkOf(host, { owner: true }), name: `N${n}`, email: `n${n}@example.com` }),
    )
    expect((await Promise.all(names)).filter((answer) => answer === "in")).to.have.length(1)
  })

  it("refuses a link after ten minutes, a forged link and the address of another user", async () => {
    const [old, fresh] = [linkOf(host, { owner: true }), linkOf(host, { owner: true })]
    await addUser(host, "eve@example.com")
    expect(await new Browser(host.url).enter({ code: fresh, name: "Eve", email: "eve@example.com" })).to.deep.equal([409, "email_taken"])
    const [content = "", signature = ""] = fresh.split(".")
    const forged = Buffer.from(Buffer.from(content, "base64url").toString().replace('"owner":true', '"email":"eve@example.com"'))
    for (const code of [`${forged.toString("base64url")}.${signature}`, content, `${content}.`, "x.y", "."])
      for (const input of [{ code, ...owner }, { link: code }])
        expect((await new Browser(host.url).enter(input))[0], JSON.stringify(input)).to.equal(401)
    host.clock.move(660_000)
    expect(await new Browser(host.url).enter({ code: old, ...owner })).to.deep.equal([401, "sign_in_code_unknown"])
    expect(await members()).to.deep.include(["", ""])
  })

  it("is named by the first key too, once", async () => {
    const update = (body: object) => host.api<{ email: string; details: { reason: string } }>("PATCH", "/v1/me", body)
    expect((await update(owner)).body.email).to.equal("ada@example.com")
    expect((await update({ email: "other@example.com" })).body.details.reason).to.equal("address_needs_proof")
    expect((await update({ name: "Countess" })).status).to.equal(200)
    expect(await members()).to.deep.equal([["ada@example.com", "Countess"]])
  })

  it("signs in by the link of the command, as every user does, once", async () => {
    await addUser(host, "eve@example.com")
    const link = linkOf(host, { email: "Eve@example.com" })
    const [first, second] = [new Browser(host.url), new Browser(host.url)]
    expect(await first.enter({ link })).to.equal("in")
    expect(await first.me()).to.equal("eve@example.com")
    expect(await second.enter({ link })).to.deep.equal([401, "sign_in_code_ended"])
    expect(await second.enter({ link: linkOf(host, { email: "nobody@example.com" }) })).to.deep.equal([401, "sign_in_code_ended"])
    expect(await second.enter({ link: linkOf(host, { owner: true }) })).to.deep.equal([401, "sign_in_code_ended"])
  })
})

describe("first owner with SMTP", () => {
  let host: TestHost
  let mailbox: MailServer
  before(async () => {
    mailbox = await listenForMail()
    const settings = { email: { transport: "smtp", url: mailbox.url, from: "no-reply@service.test" } }
    host = await testHost({ capture: false, env: { MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings) } })
  })
  after(async () => {
    await host.stop()
    await mailbox.close()
  })

  it("proves the address by a code, and the link works until then", async () => {
    const [browser, code] = [new Browser(host.url), linkOf(host, { owner: true })]
    const first = await browser.call("POST", "/console-session", { code, name: "Ada", email: "mistyped@example.com" })
    expect([first.status, [...browser.cookies.keys()]]).to.deep.equal([202, ["mr_sign_in"]])
    expect((await host.api<Me>("GET", "/v1/me")).body.user.email).to.equal("")
    await browser.call("POST", "/console-session", { code, ...owner })
    const mail = await mailedTo(host, mailbox.received, "ada@example.com")
    expect(await browser.enter({ email_code: mail.code })).to.equal("in")
    expect(await browser.me()).to.equal("ada@example.com")
    expect(await new Browser(host.url).enter({ code, ...owner })).to.deep.equal([401, "sign_in_code_unknown"])
  })

  it("gets a mail about each use of an operator's link", async () => {
    await addUser(host, "eve@example.com")
    expect(await new Browser(host.url).enter({ link: linkOf(host, { email: "eve@example.com" }) })).to.equal("in")
    host.clock.move(1_000)
    const { mail } = await until("the notice", () => mailbox.received.find(({ recipients }) => recipients.includes("eve@example.com")))
    expect(mail.subject).to.include("A link of the operator signed you in")
  })
})
