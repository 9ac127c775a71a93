// Sign-in by mail in a browser: with a code, and with the link that needs a click.
import { expect } from "chai"
import { untilProcess as until } from "../../waiting.ts"
import { addUser } from "../identity/people.ts"
import { consoleUnderTest } from "./browser.ts"

describe("sign-in by mail in the console", () => {
  const testConsole = consoleUnderTest()

  const mailed = async (count: number) => {
    testConsole.host.clock.move(1_000)
    const mail = await until("the mail", () => testConsole.host.mails.length >= count && testConsole.host.mails.at(-1))
    return { code: /^\d{6}/.exec(mail.subject)?.[0] ?? "", link: /https?:\S+#link=\S+/.exec(mail.text)?.[0] ?? "" }
  }

  it("opens the place of the address with the code, and with the link after a click", async () => {
    await addUser(testConsole.host, "ada@example.com")
    const page = await testConsole.open("/console/datasets")
    await page.getByLabel("Email").fill("ada@example.com")
    await page.keyboard.press("Enter")
    await page.getByLabel("Code", { exact: true }).waitFor()
    await testConsole.looksRight(page, "sign-in-code")
    const { code } = await mailed(1)
    await page.getByLabel("Code", { exact: true }).fill(code)
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Datasets" }).waitFor()
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByLabel("Email").fill("ada@example.com")
    await page.keyboard.press("Enter")
    await page.getByLabel("Code", { exact: true }).waitFor()
    const { link } = await mailed(2)
    expect(new URL(link).pathname).to.equal("/console/datasets")
    await page.goto(link)
    await page.getByRole("button", { name: "Sign in by link" }).click()
    await page.getByRole("heading", { name: "Datasets" }).waitFor()
    expect(page.url()).to.not.include("link=")
  })

  it("repeats a request that the service answers with 503, to sign in and to sign out", async () => {
    const email = "hopper@example.com"
    await addUser(testConsole.host, email)
    const page = await testConsole.open("/console", { mayFail: true })
    const answers = new Map<string, number[]>()
    await page.route("**/console-session**", async (route) => {
      const call = `${route.request().method()} ${new URL(route.request().url()).pathname}`
      const seen = answers.get(call) ?? []
      answers.set(call, seen)
      if (call.startsWith("GET")) return await route.continue()
      seen.push(seen.length === 0 ? 503 : 200)
      if (seen.length > 1) return await route.continue()
      const headers = { "retry-after": "1" }
      await route.fulfill({ status: 503, headers, json: { code: "unavailable", message: "The store does not answer.", details: {} } })
    })
    const before = testConsole.host.mails.length
    await page.getByLabel("Email").fill(email)
    await page.keyboard.press("Enter")
    await page.getByLabel("Code", { exact: true }).waitFor()
    const { code } = await mailed(before + 1)
    await page.getByLabel("Code", { exact: true }).fill(code)
    await page.keyboard.press("Enter")
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByText("You have signed out.").waitFor()
    for (const call of ["POST /console-session/code", "POST /console-session", "DELETE /console-session"])
      expect(answers.get(call), call).to.deep.equal([503, 200])
    const session = await page.evaluate(async () => (await (await fetch("/console-session")).json()) as { present: boolean })
    expect(session).to.deep.equal({ present: false })
  })

  it("refuses an old code and too many codes, with the remedy", async () => {
    const email = "grace@example.com"
    await addUser(testConsole.host, email)
    const page = await testConsole.open("/console", { mayFail: true })
    await page.getByLabel("Email").fill(email)
    await page.keyboard.press("Enter")
    await page.getByLabel("Code", { exact: true }).waitFor()
    const { code } = await mailed(testConsole.host.mails.length + 1)
    testConsole.host.clock.move(11 * 60_000)
    await page.getByLabel("Code", { exact: true }).fill(code)
    await page.keyboard.press("Enter")
    await page.getByRole("alert").getByText("Ask for a new code").waitFor()
    await testConsole.looksRight(page, "sign-in-old-code")
    for (let count = 2; count <= 6; count++) {
      const answered = page.waitForResponse("**/console-session/code")
      await page.getByRole("button", { name: "Mail a new code" }).click()
      await answered
    }
    await page.getByRole("alert").getByText("sign-in codes an hour are the limit").waitFor()
    await testConsole.looksRight(page, "sign-in-too-many")
  })
})
