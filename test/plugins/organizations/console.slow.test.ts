// The screens of people in Chromium: members, invitations, organizations, and the dialog of a fresh sign-in.
import { expect } from "chai"
import type { Page } from "playwright-core"
import { UnitsOfWork } from "#core"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { untilProcess as until } from "../../waiting.ts"
import { consoleUnderTest } from "../console/browser.ts"
import { countMails, enterCode, mailTo, signInByMail } from "../console/mailbox.ts"
import { addUser } from "../identity/people.ts"

const minuteMs = 60_000

describe("people in the console", () => {
  const testConsole = consoleUnderTest({ capture: true })
  before(async () => {
    await addUser(testConsole.host, "ada@example.com", "owner")
    await addUser(testConsole.host, "grace@example.com", "admin")
    await addUser(testConsole.host, "edsger@example.com", "member")
  })

  const signedIn = async (email: string, path: string): Promise<Page> => {
    const page = await testConsole.open(path)
    await signInByMail(testConsole.host, page, email)
    return page
  }
  const press = async (page: Page, name: string) => {
    await page.getByRole("button", { name, exact: true }).click()
  }
  const confirm = async (page: Page, name: string) => {
    await press(page, name)
    await page.getByRole("dialog").getByRole("button", { name, exact: true }).click()
  }

  it("change a role, and remove a member with what pauses", async () => {
    const page = await signedIn("ada@example.com", "/console/members")
    await testConsole.looksRight(page, "members")
    await page.getByRole("link", { name: "edsger@example.com" }).click()
    await page.getByRole("heading", { name: "edsger@example.com" }).waitFor()
    await testConsole.looksRight(page, "member")
    await page.getByLabel("Role", { exact: true }).selectOption("guest")
    await press(page, "Change role")
    await page.getByRole("row", { name: "edsger" }).getByText("guest").waitFor()
    await confirm(page, "Remove")
    await page.getByRole("heading", { name: "edsger@example.com was removed" }).waitFor()
    await testConsole.looksRight(page, "member-removed")
    expect(await page.getByRole("row", { name: "edsger" }).count()).to.equal(0)
  })

  it("invite, resend and revoke, and a new person joins by the link with a name", async () => {
    const page = await signedIn("ada@example.com", "/console/members?list=invitations")
    await page.getByText("There is no open invitation").waitFor()
    await page.getByLabel("Email").fill("barbara")
    await press(page, "Invite")
    await page.getByRole("alert").getByText("email").waitFor()
    for (const email of ["barbara@example.com", "donald@example.com"]) {
      await page.getByLabel("Email").fill(email)
      await page.getByLabel("Role", { exact: true }).selectOption("admin")
      await press(page, "Invite")
      await page.getByRole("status").getByText(email).waitFor()
    }
    await testConsole.looksRight(page, "invitations")
    const donald = page.getByRole("row", { name: "donald" })
    await donald.getByRole("button", { name: "Resend" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Resend" }).click()
    await donald.getByRole("button", { name: "Revoke" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click()
    await donald.waitFor({ state: "detached" })

    const { text } = await mailTo(testConsole.host, "barbara@example.com")
    const link = new URL(/https?:\S+#code=\S+/.exec(text)?.[0] ?? "")
    const joining = await testConsole.open(link.pathname + link.hash, { mayFail: true })
    await joining.getByLabel("Your name").fill("Barbara Liskov")
    expect(joining.url()).to.not.include("code=")
    await testConsole.looksRight(joining, "join")
    await press(joining, "Join")
    await joining.getByText("Signed in as barbara@example.com, admin").waitFor()
    await page.getByRole("link", { name: "Members", exact: true }).first().click()
    await page.getByRole("link", { name: "Barbara Liskov" }).waitFor()
  })

  it("asks for a new sign-in where one is due, in one dialog, and finishes the call then", async () => {
    const page = await signedIn("grace@example.com", "/console/api_keys/-/api_keys.create")
    await page.getByLabel("name").fill("Website")
    testConsole.host.clock.move(10 * minuteMs)
    const before = countMails(testConsole.host, "grace@example.com")
    await press(page, "Create")
    const dialog = page.getByRole("dialog", { name: "Sign in again" })
    await dialog.getByText("last five minutes").waitFor()
    await testConsole.looksRight(page, "sign-in-again")
    await press(page, "Mail a code to grace@example.com")
    await dialog.getByLabel("Code", { exact: true }).fill("000000")
    await page.keyboard.press("Enter")
    await dialog.getByRole("alert").getByText("tries are left").waitFor()
    await enterCode(testConsole.host, page, "grace@example.com", before)
    await page.getByRole("heading", { name: "Done" }).waitFor()
    expect(await dialog.count()).to.equal(0)
  })

  it("keep a call undone whose sign-in is canceled", async () => {
    const page = await signedIn("grace@example.com", "/console/api_keys/-/api_keys.create")
    await page.getByLabel("name").fill("Never made")
    testConsole.host.clock.move(10 * minuteMs)
    await press(page, "Create")
    await page.getByRole("dialog", { name: "Sign in again" }).getByRole("button", { name: "Cancel" }).click()
    await page.getByRole("status").getByText("last five minutes").waitFor()
    const response = await testConsole.host.api<{ api_keys: { name: string }[] }>("GET", "/v1/api-keys")
    expect(response.body.api_keys.map(({ name }) => name)).to.not.include("Never made")
  })

  it("create a second organization and switch, in every window of the browser", async () => {
    const page = await signedIn("ada@example.com", "/console/organizations")
    const other = await page.context().newPage()
    await other.goto(`${testConsole.host.url}/console/members`)
    await other.getByRole("link", { name: "grace@example.com" }).waitFor()
    await page.getByLabel("Name").fill("Bakery")
    await page.getByLabel("Time zone").fill("Europe/Berlin")
    await press(page, "Create")
    await page.getByRole("status").getByText("Bakery was created").waitFor()
    await testConsole.looksRight(page, "organizations")
    await page.getByLabel("Organization", { exact: true }).selectOption({ label: "Bakery" })
    await page.getByRole("row", { name: "Bakery" }).getByText("open").waitFor()
    await other.getByRole("link", { name: "grace@example.com" }).waitFor({ state: "detached" })
    await other.getByRole("link", { name: "ada@example.com" }).waitFor()
    const chosen = await until("the other window", async () => await other.getByLabel("Organization", { exact: true }).inputValue())
    expect(chosen).to.equal("bakery")
  })

  it("hand the ownership over by an offer and its acceptance", async () => {
    const page = await signedIn("ada@example.com", "/console/members")
    await page.getByLabel("Organization", { exact: true }).selectOption({ index: 1 })
    await page.getByRole("link", { name: "Barbara Liskov" }).click()
    await confirm(page, "Offer the ownership")
    await page.getByRole("region", { name: "Offer of ownership" }).getByText("Barbara Liskov").waitFor()
    const taker = await signedIn("barbara@example.com", "/console/members")
    await taker.getByText("offers you the ownership").waitFor()
    await testConsole.looksRight(taker, "ownership-offer")
    await press(taker, "Accept")
    await taker.getByRole("dialog").getByRole("button", { name: "Accept" }).click()
    await taker.getByText("offers you the ownership").waitFor({ state: "detached" })
    await taker.getByRole("row", { name: "Barbara Liskov" }).getByText("owner").waitFor()
    await taker.getByRole("row", { name: "ada@example.com" }).getByText("admin").waitFor()
  })

  it("list the sessions of a person, and end one of another browser at once", async () => {
    const [page, other] = [
      await signedIn("grace@example.com", "/console/account"),
      await signedIn("grace@example.com", "/console/datasets"),
    ]
    await page.reload()
    await page.getByRole("heading", { name: "Sessions" }).waitFor()
    await page.getByText("this browser").waitFor()
    await testConsole.looksRight(page, "account")
    await press(page, "End all other sessions")
    await page.getByRole("dialog").getByRole("button", { name: "End all other sessions" }).click()
    await page.getByRole("button", { name: "End all other sessions" }).waitFor({ state: "detached" })
    await other.getByRole("link", { name: "Members", exact: true }).click()
    await other.getByRole("dialog", { name: "Sign in", exact: true }).waitFor()
  })
})

describe("people who go in the console", () => {
  const testConsole = consoleUnderTest({ capture: true })

  it("lose their sign-ins, leave heartbeats for others, and leave by themselves", async () => {
    const { host } = testConsole
    await addUser(host, "ada@example.com", "owner")
    const edsger = await addUser(host, "edsger@example.com", "admin")
    await addUser(host, "grace@example.com", "member")
    const { id } = await host.get(Organizations).first()
    const minted = { name: "Script", kind: "api_key", role: "admin", scopes: null, user: edsger.id } as const
    const { text: key } = await host.get(UnitsOfWork).run((work) => host.get(ApiKeys).mint(work, id, minted))
    const digest = { name: "Weekly digest", kind: "script", interval_minutes: 60, script_js: "function script() { return null }" }
    const response = await host.api<{ id: string }>("POST", "/v1/heartbeats", digest, { key })
    const page = await testConsole.open("/console/members")
    await signInByMail(host, page, "ada@example.com")
    const confirm = async (name: string) => {
      await page.getByRole("button", { name, exact: true }).click()
      await page.getByRole("dialog").getByRole("button", { name, exact: true }).click()
    }
    await page.getByRole("link", { name: "grace@example.com" }).click()
    await confirm("Reset sign-ins")
    await page.getByRole("status").getByText("sign-ins of grace@example.com were reset").waitFor()
    expect((await mailTo(host, "grace@example.com")).text).to.include("Sign in by mail again")
    await testConsole.looksRight(page, "member-recovered")
    await page.getByRole("link", { name: "edsger@example.com" }).click()
    await confirm("Remove")
    await page.getByRole("heading", { name: "edsger@example.com was removed" }).waitFor()
    await testConsole.looksRight(page, "member-removed-heartbeat")
    await page.getByRole("button", { name: "Take over" }).click()
    await page.getByText("is yours now").waitFor()
    expect((await host.api<{ state: string }>("GET", `/v1/heartbeats/${response.body.id}`)).body.state).to.equal("active")

    const leaving = await testConsole.open("/console/members")
    await signInByMail(host, leaving, "grace@example.com")
    await leaving.getByRole("link", { name: "grace@example.com" }).click()
    await leaving.getByRole("button", { name: "Leave" }).click()
    await leaving.getByRole("dialog").getByRole("button", { name: "Leave" }).click()
    await leaving.getByText("You left").waitFor()
    await testConsole.looksRight(leaving, "left")
  })
})

describe("an invitation of a service that sends no mail", () => {
  const testConsole = consoleUnderTest({ capture: false })

  it("shows its link once, with a button that copies it", async () => {
    const page = await testConsole.signedIn("/console/members?list=invitations")
    await page.getByLabel("Email").fill("barbara@example.com")
    await page.getByRole("button", { name: "Invite" }).click()
    await page.getByText("/console/join#code=mr_join_").waitFor()
    await testConsole.looksRight(page, "invitation-link")
    await page.getByRole("button", { name: "Copy link" }).click()
    await page.reload()
    await page.getByRole("row", { name: "barbara" }).waitFor()
    expect(await page.getByText("mr_join_").count()).to.equal(0)
  })
})
