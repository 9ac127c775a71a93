// A passkey in Chromium, with its virtual authenticator: added in a session, then used in place of a mail.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { launchChromium } from "../../chromium.ts"
import { freePort } from "../../free-port.ts"
import { addUser, signedIn } from "../identity/people.ts"

/** Runs in the page, as the account screen does. */
const addPasskey = `(async () => {
  const post = async (path, body) => {
    const answer = await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })
    return { status: answer.status, body: await answer.json() }
  }
  const { body } = await post("/v1/me/passkeys-options", {})
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(body.options)
  const { id, rawId, type, response } = (await navigator.credentials.create({ publicKey })).toJSON()
  return await post("/v1/me/passkeys", { name: "Laptop", answer: { id, rawId, type, response } })
})()`

describe("a passkey in the console", () => {
  let host: TestHost
  let browser: Awaited<ReturnType<typeof launchChromium>>
  before(async function () {
    this.timeout(300_000)
    const port = await freePort()
    host = await testHost({ env: { PORT: String(port), MILLRACE_PUBLIC_URL: `http://localhost:${port}` } })
    browser = await launchChromium()
  })
  after(async () => {
    await browser?.close()
    await host?.stop()
  })

  it("is added in a session, and signs in with a click", async function () {
    this.timeout(300_000)
    const { port } = new URL(host.url)
    const url = `http://localhost:${port}`
    const user = await addUser(host, "ada@example.com")
    const context = await browser.newContext()
    const [text = ""] = (await signedIn(host, user)).cookies.values()
    await context.addCookies([{ name: "mr_session", value: text, url }])
    const page = await context.newPage()
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
    await page.goto(`${url}/console`)
    expect(await page.evaluate(addPasskey)).to.deep.include({ status: 200 })
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByRole("button", { name: "Sign in with a passkey" }).click()
    await page.getByRole("button", { name: "Sign out" }).waitFor()
    const me = (await page.evaluate(`fetch("/v1/me").then((answer) => answer.json())`)) as {
      user: { email: string }
      sign_in: { method: string }
    }
    expect([me.user.email, me.sign_in.method]).to.deep.equal(["ada@example.com", "passkey"])
  })
})
