// A person without an organization in Chromium: the personal page, an invitation, and a new organization.
import { expect } from "chai"
import type { Page } from "playwright-core"
import { UnitsOfWork } from "#core"
import { Users } from "../../../plugins/platform/identity/index.ts"
import { consoleUnderTest } from "../console/browser.ts"
import { signInByMail } from "../console/mailbox.ts"

const settings = { organizations: { self_service: "everyone" } }

describe("a person without an organization in the console", () => {
  const testConsole = consoleUnderTest({ capture: true, env: { MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings) } })
  const signedIn = async (email: string, path: string): Promise<Page> => {
    const { host } = testConsole
    await host.get(UnitsOfWork).run((work) => host.get(Users).add(work, { email, name: "Ada Lovelace" }))
    const page = await testConsole.open(path)
    await signInByMail(host, page, email)
    await page.getByRole("heading", { name: "You belong to no organization" }).waitFor()
    return page
  }
  const linksOf = async (page: Page) => await page.getByRole("navigation", { name: "Areas" }).getByRole("link").allInnerTexts()

  it("shows the person, and accepts an open invitation", async () => {
    const { host } = testConsole
    await host.api("POST", "/v1/member-invitations", { email: "ada@example.com", role: "admin" })
    const page = await signedIn("ada@example.com", "/console/datasets")
    await page.getByText("Ada Lovelace, ada@example.com").waitFor()
    expect(await linksOf(page)).to.deep.equal(["Overview", "Your organizations", "Your account"])
    await page.getByRole("row", { name: host.organization.slug }).getByText("admin").waitFor()
    await testConsole.looksRight(page, "no-organization")
    await page.getByRole("button", { name: "Join", exact: true }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Join", exact: true }).click()
    await page.getByRole("link", { name: "Datasets" }).waitFor()
    await page.getByRole("banner").getByText(host.organization.slug).waitFor()
  })

  it("creates an organization, and acts in it", async () => {
    const page = await signedIn("grace@example.com", "/console")
    await page.getByText("No invitation is open").waitFor()
    await testConsole.looksRight(page, "no-organization-no-invitation")
    await page.getByLabel("Name", { exact: true }).fill("Bakery")
    await page.getByRole("button", { name: "Create", exact: true }).click()
    await page.getByRole("banner").getByText("Bakery").waitFor()
    await page.getByRole("link", { name: "Datasets" }).waitFor()
  })

  it("opens the own account, and signs out", async () => {
    const page = await signedIn("barbara@example.com", "/console")
    await page.getByRole("link", { name: "Your account" }).first().click()
    await page.getByRole("heading", { name: "Your account", exact: true }).waitFor()
    await page.getByRole("region", { name: "Sessions" }).getByText("this browser").waitFor()
    await testConsole.looksRight(page, "no-organization-account")
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByRole("heading", { name: "Sign in to Millrace" }).waitFor()
  })
})
