// The screens of datasets in Chromium: thousands of rows, filters and sort orders with the service's refusals, one row, inserting
// and deleting, and hostile texts.
import { expect } from "chai"
import { untilProcess as until } from "../../waiting.ts"
import { consoleUnderTest } from "../console/browser.ts"

const hostile = `<img src=x onerror="document.title='hit'"><script>document.title='hit'</script>\u202Eevil`

interface Box {
  readonly scrollWidth: number
  readonly clientWidth: number
}

describe("the screens of datasets", () => {
  const testConsole = consoleUnderTest()
  before(async () => {
    await testConsole.host.api("POST", "/v1/datasets", { name: "Sign-ups" })
    for (let page = 0; page < 3; page++) {
      const rows = Array.from({ length: 300 }, (_, index) => ({
        email: `lead-${page * 300 + index}@example.com`,
        name: index === 0 && page === 2 ? hostile : `Lead ${page * 300 + index}`,
        budget: page * 300 + index,
        account: 9_007_199_254_740_991 - index,
        subscribed: index % 2 === 0,
      }))
      const { status } = await testConsole.host.api("POST", "/v1/datasets/sign-ups/rows", { rows, key: "email" })
      expect(status).to.equal(200)
    }
  })

  it("show rows as one scrolls, newest first, and what strangers wrote as text", async () => {
    const page = await testConsole.signedIn("/console/datasets")
    await page.getByRole("main").getByRole("link", { name: "Sign-ups", exact: true }).waitFor()
    await testConsole.looksRight(page, "datasets-list")
    await testConsole.tabTo(page, "Sign-ups")
    await page.keyboard.press("Enter")
    const table = page.getByRole("table", { name: "Rows of Sign-ups" })
    await table.getByRole("row").nth(5).waitFor()
    const account = table.getByRole("cell", { name: /^9007199254740\d{3}$/ }).first()
    expect(await account.evaluate((cell) => (cell as unknown as Box).scrollWidth <= (cell as unknown as Box).clientWidth)).to.equal(true)
    await testConsole.looksRight(page, "datasets-rows")
    await table.focus()
    await until("all rows being loaded", async () => {
      await page.keyboard.press("End")
      return (await page.getByText("900 rows").count()) > 0 || undefined
    })
    expect(await table.getByRole("row").count()).to.be.below(100)
    await page.goto(`${testConsole.host.url}/console/datasets/sign-ups?filter=${encodeURIComponent('{"budget":600}')}`)
    await table.getByText("onerror").waitFor()
    expect(await page.locator("main img").count()).to.equal(0)
    expect(await page.title()).to.not.equal("hit")
  })

  it("show more rows than a browser scrolls, and those in sight stay there while more are loaded", async () => {
    const page = await testConsole.signedIn("/console")
    const [perPage, all] = [100_000, 300_000]
    await page.route(/\/v1\/datasets\/sign-ups\/rows/, async (route) => {
      const from = Number(new URL(route.request().url()).searchParams.get("cursor"))
      const rows = Array.from({ length: perPage }, (_, index) => ({ id: `row-${from + index}`, values: {}, created_at: "" }))
      await route.fulfill({ json: { rows, next_cursor: from + perPage === all ? "" : String(from + perPage) } })
    })
    await page.goto(`${testConsole.host.url}/console/datasets/sign-ups`)
    const table = page.getByRole("table", { name: "Rows of Sign-ups" })
    const linkInSight = async (number: number) => {
      const text = `row-${number}`.slice(-6)
      const [own, box] = await Promise.all([
        table
          .getByRole("link", { name: text })
          .boundingBox({ timeout: 2_000 })
          .catch(() => null),
        table.boundingBox(),
      ])
      return (own && box && own.y > box.y && own.y < box.y + box.height) || undefined
    }
    await until("the first row", () => linkInSight(0))
    await table.focus()
    for (const loaded of [200_000, all]) {
      await page.keyboard.press("End")
      await page.getByText(`${loaded.toLocaleString("en")} rows`).waitFor()
      // Its place was already reserved.
      await until("a row that was loaded", () => linkInSight(loaded - perPage + 10))
    }
    await until("the last row", async () => {
      // The end of an earlier scroll can end the scroll of a key.
      await page.keyboard.press("End")
      return await linkInSight(all - 1)
    })
  })

  it("filter and sort by the address, and say what the service refuses", async () => {
    const page = await testConsole.signedIn("/console/datasets/sign-ups")
    await testConsole.tabTo(page, "column")
    // Selects by first letters: a slowly typed word would count as single letters.
    await page.keyboard.press("b")
    await testConsole.tabTo(page, "comparison")
    for (const _ of ["above", "at least"]) await page.keyboard.press("a")
    await testConsole.tabTo(page, "value")
    await page.keyboard.type("895")
    await page.keyboard.press("Enter")
    await page.getByText("5 rows.").waitFor()
    expect(new URL(page.url()).searchParams.get("filter")).to.equal('{"budget":{"$gte":895}}')
    await page.getByRole("columnheader", { name: "budget" }).getByRole("link").press("Enter")
    await page.getByRole("row").nth(1).getByText("lead-895").waitFor()
    await page.reload()
    await page.getByRole("row").nth(1).getByText("lead-895").waitFor()
    await page.goto(`${testConsole.host.url}/console/datasets/sign-ups?filter=${encodeURIComponent('{"budget":{"$near":1}}')}`)
    await page.getByRole("alert").getByText("$near").waitFor()
    expect(await page.getByRole("row").count()).to.equal(0)
    await testConsole.looksRight(page, "datasets-refused")
  })

  it("show one row whole, and delete it once that is confirmed", async () => {
    const page = await testConsole.signedIn("/console/datasets/sign-ups?filter=%7B%22email%22%3A%22lead-7%40example.com%22%7D")
    await page.getByText("1 row.").waitFor()
    await page.getByRole("row").nth(1).getByRole("link").press("Enter")
    await page.getByRole("region", { name: "Row" }).getByText("lead-7@example.com").waitFor()
    // A link to the row works even if the first page ends before it, until it is deleted.
    const { search } = new URL(page.url())
    const link = `${testConsole.host.url}/console/datasets/sign-ups?row=${new URLSearchParams(search).get("row")}`
    await page.goto(link)
    await page.getByRole("region", { name: "Row" }).getByText("lead-7@example.com").waitFor()
    await page.goto(`${testConsole.host.url}/console/datasets/sign-ups${search}`)
    await page.getByRole("region", { name: "Row" }).getByText("lead-7@example.com").waitFor()
    await testConsole.looksRight(page, "datasets-row")
    const row = page.getByRole("region", { name: "Row" })
    const dialog = page.getByRole("dialog")
    await row.getByRole("button", { name: "Delete" }).press("Enter")
    await dialog.getByText("Delete this row?").waitFor()
    await page.keyboard.press("Escape")
    await dialog.waitFor({ state: "hidden" })
    const count = async () =>
      (
        await testConsole.host.api<{ rows: unknown[] }>(
          "GET",
          `/v1/datasets/sign-ups/rows${new URL(page.url()).search.replace(/&row=.*/, "")}`,
        )
      ).body.rows.length
    expect(await count()).to.equal(1)
    await row.getByRole("button", { name: "Delete" }).press("Enter")
    await dialog.getByText("Delete this row?").waitFor()
    // Requested again before the browser has reported the closed dialog.
    await page.evaluate(`{
      document.querySelector("dialog.confirmation").close()
      document.querySelector("main button.danger").click()
    }`)
    await dialog.getByRole("button", { name: "Delete" }).press("Enter")
    await page.getByText("No row is like this").waitFor()
    expect(await count()).to.equal(0)
    await page.goto(link)
    await page.getByText("The row of this address no longer exists.").waitFor()
  })

  it("insert rows that are written as JSON, and say at which row one is refused", async () => {
    const page = await testConsole.signedIn("/console/datasets/sign-ups?part=insert")
    await page.getByRole("textbox", { name: "Rows" }).waitFor()
    await testConsole.tabTo(page, "Rows")
    await testConsole.tabTo(page, "Rows")
    const write = async (text: string) => {
      await page.keyboard.press("Control+a")
      await page.keyboard.press("Delete")
      await page.keyboard.insertText(text)
      await page.keyboard.press("Control+Enter")
    }
    await write('[{"name":"No key"}]')
    await page.getByRole("alert").getByText("rows.0").waitFor()
    await write('[{"email":"new@example.com","name":"New"}]')
    await page.getByText("1 written.").waitFor()
    await testConsole.looksRight(page, "datasets-insert")
  })
})
