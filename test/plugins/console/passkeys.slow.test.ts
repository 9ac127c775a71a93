// Passkeys in Chromium with its virtual authenticator, over the life of an account: offered after a sign-in by mail, used instead
// of a mail, renamed and removed.
import { expect } from "chai"
import type { Page } from "playwright-core"
import { type TestHost, testHost } from "#core/testing"
import { launchChromium } from "../../chromium.ts"
import { freePort } from "../../free-port.ts"
import { addUser } from "../identity/people.ts"
import { ConsoleUnderTest } from "./browser.ts"
import { mailTo, signInByMail } from "./mailbox.ts"

const testMs = 600_000
const [email, newEmail] = ["ada@example.com", "ada@lovelace.example"]

describe("a passkey in the console", () => {
  const consoleUnderTest = new ConsoleUnderTest()
  let host: TestHost
  let browser: Awaited<ReturnType<typeof launchChromium>>
  let page: Page
  before(async function () {
    this.timeout(testMs)
    const port = await freePort()
    host = await testHost({ env: { PORT: String(port), MILLRACE_PUBLIC_URL: `http://localhost:${port}` }, capture: true })
    browser = await launchChromium()
    await addUser(host, email)
    const context = await browser.newContext()
    context.setDefaultTimeout(testMs / 3)
    // With autofill, the virtual authenticator would choose at once, without a click.
    await context.addInitScript("PublicKeyCredential.isConditionalMediationAvailable = async () => false")
    page = await context.newPage()
    const devtools = await context.newCDPSession(page)
    await devtools.send("WebAuthn.enable")
    const options = {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
    } as const
    await devtools.send("WebAuthn.addVirtualAuthenticator", { options: { ...options, automaticPresenceSimulation: true } })
    await page.goto(`http://localhost:${port}/console`)
  })
  beforeEach(function () {
    this.currentTest?.timeout(testMs)
  })
  after(async () => {
    await browser?.close()
    await host?.stop()
  })

  const press = (name: string) => page.getByRole("button", { name, exact: true }).click()
  const confirm = async (name: string) => {
    await press(name)
    await page.getByRole("dialog").getByRole("button", { name, exact: true }).click()
  }
  const offer = () => page.getByRole("region", { name: "Passkey offer" })

  it("is offered after a sign-in by mail until a dismissal, and signs in with a click", async () => {
    await signInByMail(host, page, email)
    await offer().waitFor()
    await consoleUnderTest.looksRight(page, "passkey-offer")
    await press("Not now")
    await page.reload()
    await page.getByRole("navigation", { name: "Areas" }).waitFor()
    await page.getByRole("link", { name: "Your account" }).click()
    await page.getByText("A passkey signs you in with this device").waitFor()
    expect(await offer().count()).to.equal(0)

    await page.evaluate("localStorage.clear()")
    await page.getByRole("link", { name: "Overview" }).click()
    await offer().getByRole("button", { name: "Add a passkey" }).click()
    await offer().getByText("Next time this device signs you in").waitFor()
    await press("Sign out")
    await consoleUnderTest.looksRight(page, "sign-in")
    await press("Sign in with a passkey")
    await page.getByRole("button", { name: "Sign out" }).waitFor()
    const me = (await page.evaluate(`fetch("/v1/me").then((answer) => answer.json())`)) as {
      user: { email: string }
      sign_in: { method: string }
    }
    expect([me.user.email, me.sign_in.method]).to.deep.equal([email, "passkey"])
    expect(await offer().count()).to.equal(0)
  })

  it("renews the sign-in for a change of name and address", async () => {
    await page.getByRole("link", { name: "Your account" }).click()
    host.clock.move(600_000)
    await page.getByLabel("Name", { exact: true }).first().fill("Ada Lovelace")
    await press("Save name")
    await page.getByRole("dialog", { name: "Sign in again" }).getByRole("button", { name: "Sign in with a passkey" }).click()
    await page.getByText("Saved.").waitFor()

    await page.getByText("Change your address").click()
    await page.getByRole("form", { name: "Change address" }).getByLabel("email").fill(newEmail)
    await press("Change address")
    const code = page.getByRole("form", { name: "Confirm address" }).getByLabel("code")
    await page.getByRole("status").getByText("a mail with a code is on its way").waitFor()
    await consoleUnderTest.looksRight(page, "account-address")
    const { subject } = await mailTo(host, newEmail)
    await code.fill(/^\d{6}/.exec(subject)?.[0] ?? "")
    await confirm("Confirm address")
    await page.locator("dl").getByText(newEmail).waitFor()
  })

  it("is renamed and removed", async () => {
    await page.getByLabel("Name of the passkey This device").fill("Laptop")
    await page.keyboard.press("Enter")
    await page.getByLabel("Name of the passkey Laptop").waitFor()
    await consoleUnderTest.looksRight(page, "account")
    await confirm("Remove")
    await page.getByText("A passkey signs you in with this device").waitFor()
  })

  it("ends with the account", async () => {
    await press("Add a passkey")
    await page.getByLabel("Name of the passkey This device").waitFor()
    await confirm("Delete your account")
    await page.getByText("Your account was deleted.").waitFor()
    await consoleUnderTest.looksRight(page, "account-deleted")
    await press("Sign in with a passkey")
    await page.getByRole("alert").getByText("passkey").waitFor()
    expect(await page.getByRole("button", { name: "Sign out" }).count()).to.equal(0)
  })
})
