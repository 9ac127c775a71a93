// The OpenAPI document of the whole bench, checked by a linter, and as a page in a browser.
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect } from "chai"
import type { Browser } from "playwright-core"
import { type TestHost, testHost } from "#core/testing"
import { launchChromium } from "../chromium.ts"
import { untilProcess as until } from "../waiting.ts"

describe("the OpenAPI document, to others", () => {
  let host: TestHost
  let document: { paths: Record<string, object> }
  before(async () => {
    host = await testHost()
    document = (await host.api<typeof document>("GET", "/openapi.json")).body
  })
  after(() => host.stop())

  it("passes the linter's recommended rules without an error or a warning", async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-openapi-"))
    try {
      const file = join(folder, "openapi.json")
      writeFileSync(file, JSON.stringify(document))
      const { code, output } = await lint(file)
      expect(code, output).to.equal(0)
      expect(JSON.parse(output.slice(output.indexOf("{")))).to.deep.include({ totals: { errors: 0, warnings: 0, ignored: 0 } })
      writeFileSync(file, JSON.stringify({ ...document, security: [{ nobody: [] }] }))
      expect((await lint(file)).code, "a document with a fault").to.equal(1)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  describe("as a page", () => {
    let browser: Browser
    before(async () => {
      browser = await launchChromium()
    })
    after(() => browser.close())

    it("shows every operation, fetches nothing from elsewhere, filters, and sends what is tried", async () => {
      const page = await browser.newPage()
      const described = Object.values(document.paths).flatMap((item) => Object.keys(item)).length
      const requests: string[] = []
      const complaints: string[] = []
      page.on("request", (request) => void requests.push(request.url()))
      page.on("console", (message) => void complaints.push(message.text()))
      page.on("pageerror", (error) => void complaints.push(String(error)))
      await page.goto(`${host.url}/docs`)
      expect(await page.locator("article").count()).to.equal(described)
      await page.fill("#filter", "rotate secret")
      expect(await page.locator("nav a:visible").allTextContents()).to.deep.equal(["POSTrotate secret", "POSTrotate secret"])
      expect(await page.locator("article:visible").count()).to.equal(2)
      await page.fill("#filter", "")
      await page.fill("#key", host.adminKey)
      const article = page.locator("[id='me.get']")
      await article.locator("details.try > summary").click()
      const command = await until("the command", async () => (await article.locator(".command").textContent()) || undefined)
      expect(command).to.include(`curl '${host.url}/v1/me'`).and.include("$MILLRACE_KEY").and.not.include(host.adminKey)
      await article.locator("button").click()
      await article.getByText(/^200 OK/).waitFor()
      expect(await article.locator(".outcome").textContent()).to.contain('"slug": "default"')
      expect(requests).to.deep.equal([`${host.url}/docs`, `${host.url}/v1/me`])
      expect(complaints).to.deep.equal([])
    })

    it("lets no script in but its own", async () => {
      const { headers } = await fetch(`${host.url}/docs`)
      expect(headers.get("content-security-policy")).to.match(/default-src 'none'.*script-src 'sha256-[^;]*'; connect-src 'self'/)
      expect(headers.get("content-security-policy")).not.to.contain("unsafe")
    })
  })
})

const linter = fileURLToPath(new URL("../../node_modules/@redocly/cli/bin/cli.js", import.meta.url))

function lint(file: string): Promise<{ code: number; output: string }> {
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", CI: "true" }
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [linter, "lint", file, "--format=json", "--skip-rule=operation-2xx-response"],
      { env, maxBuffer: 50_000_000 },
      (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code ?? 1) : 0, output: stdout || stderr })
      },
    )
  })
}
