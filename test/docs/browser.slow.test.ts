// The example of docs/browser.md works unchanged: from another origin, in a browser with CORS.
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import bundled from "@sparticuz/chromium"
import { expect } from "chai"
import { build } from "esbuild"
import { parse } from "yaml"
import { testHost } from "#core/testing"
import { launchChromium } from "../chromium.ts"
import { projectRoot } from "../import-graph.ts"
import { readPage } from "./page.ts"

const { blocks } = readPage("docs/browser.md")
const only = (language: string) => blocks.find((block) => block.language === language)?.text ?? ""

describe("docs/browser.md", function () {
  this.timeout(900_000)

  it("shows a page that sends, is told what is wrong, and hears what others wrote", async () => {
    const host = await testHost()
    const { body: created } = await host.api<{ endpoint_id: string; warnings: string[] }>(
      "POST",
      "/v1/event-pipelines",
      parse(only("yaml")) as Record<string, unknown>,
    )
    expect(created.warnings).to.deep.equal([])
    const { outputFiles } = await build({
      stdin: { contents: 'export * from "millrace/live"', resolveDir: projectRoot },
      bundle: true,
      platform: "browser",
      format: "esm",
      write: false,
      logLevel: "silent",
    })
    const html = only("html")
      .replace("http://127.0.0.1:8080", host.url)
      .replace(/in_0123456789ABCDEFGHIJKL/, created.endpoint_id)
    const site = createServer((request, response) => {
      const script = request.url === "/live.js"
      response.setHeader("content-type", script ? "text/javascript" : "text/html").end(script ? outputFiles[0]?.text : html)
    })
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve))
    // By default this Chromium ignores CORS.
    const browser = await launchChromium(bundled.args.filter((argument) => argument !== "--disable-web-security"))
    try {
      const origin = `http://localhost:${(site.address() as AddressInfo).port}/`
      const [writer, reader] = [await browser.newPage(), await browser.newPage()]
      const connected = reader.waitForEvent("websocket")
      await Promise.all([writer.goto(origin), reader.goto(origin)])
      await connected
      await writer.fill("[name=name]", "Ada")
      await writer.fill("[name=text]", "x".repeat(1_001))
      await writer.click("button")
      await writer.waitForFunction("document.querySelector('output').textContent.startsWith('/text ')")
      await writer.fill("[name=text]", "Hello there")
      // Received only after the reader has subscribed, so it is sent repeatedly.
      for (let text = ""; !text.includes("Ada: Hello there"); ) {
        await writer.click("button")
        await writer.waitForFunction("document.querySelector('output').textContent === 'Thank you.'")
        text = (await reader.locator("ul").textContent()) ?? ""
      }
      const called = await writer.evaluate(`fetch("${host.url}/v1/me").then(() => "answered", () => "blocked")`)
      expect(called).to.equal("blocked")
    } finally {
      await browser.close()
      site.close()
      await host.stop()
    }
  })
})
