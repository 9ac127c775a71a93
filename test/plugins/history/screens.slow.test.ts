// The trash in Chromium: a deleted item is found, read and restored.
import { expect } from "chai"
import { untilProcess as until } from "../../waiting.ts"
import { consoleUnderTest } from "../console/browser.ts"

describe("the trash", () => {
  const testConsole = consoleUnderTest()

  it("restores a deleted item", async () => {
    const { api } = testConsole.host
    for (const name of ["Busy founder", "Careful buyer", "Weekend gardener"])
      await api("POST", "/v1/personas", { name, goals: ["Save time"] })
    for (const slug of ["busy-founder", "careful-buyer"]) await api("DELETE", `/v1/personas/${slug}`)
    const page = await testConsole.signedIn("/console/trash")
    await page.getByText("careful-buyer").first().waitFor()
    await testConsole.looksRight(page, "trash")
    await page.getByRole("link", { name: "busy-founder" }).click()
    await page.getByText("Save time").first().waitFor()
    await testConsole.looksRight(page, "trash-item")
    await page.getByRole("link", { name: "Restore", exact: true }).click()
    await page.getByRole("button", { name: "Restore", exact: true }).click()
    await until("the restored persona", async () => (await api("GET", "/v1/personas/busy-founder")).status === 200)
    expect((await api<{ trash: unknown[] }>("GET", "/v1/trash")).body.trash).to.have.length(1)
  })
})
