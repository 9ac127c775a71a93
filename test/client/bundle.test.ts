// The client in a page: no Node modules, little code beside socket.io's client, and tested in a real browser.
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { gzipSync } from "node:zlib"
import { expect } from "chai"
import { build, type Metafile } from "esbuild"
import type { Browser } from "playwright-core"
import { testHost } from "#core/testing"
import { launchChromium } from "../chromium.ts"
import { projectRoot } from "../import-graph.ts"
import { cuttingProxy } from "./cutting-proxy.ts"

interface Bundle {
  readonly text: string
  readonly gzipped: number
  readonly inputs: string[]
}

async function bundle(entry: string, options: { external?: string[]; format?: "esm" | "iife"; globalName?: string } = {}): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: entry, resolveDir: projectRoot },
    bundle: true,
    minify: true,
    platform: "browser",
    target: "es2022",
    format: "esm",
    write: false,
    metafile: true,
    logLevel: "silent",
    ...options,
  })
  const text = outputFiles[0]?.text ?? ""
  return { text, gzipped: gzipSync(text).length, inputs: Object.keys((metafile as Metafile).inputs) }
}

describe("client in browsers", () => {
  it("bundles without anything of Node, of plugins, or of the server", async () => {
    for (const entry of ["millrace/client", "millrace/live"]) {
      // esbuild refuses node: imports for browsers, and lists all bundled files.
      const { inputs, text } = await bundle(`export * from "${entry}"`)
      const ours = inputs.filter((path) => !path.startsWith("node_modules/") && path !== "<stdin>")
      expect(ours.filter((path) => !/^(client|core\/client|entry-points)\//.test(path))).to.deep.equal([])
      const packages = inputs.filter((path) => path.startsWith("node_modules/")).map((path) => path.split("/")[1] ?? "")
      expect([...new Set(packages)].sort()).to.deep.equal([
        "@socket.io",
        "engine.io-client",
        "engine.io-parser",
        "socket.io-client",
        "socket.io-parser",
      ])
      expect(text).to.not.match(/\bprocess\.(env|version)|\brequire\(/)
    }
  })

  it("takes less than 4 kB gzipped for live updates beside socket.io's client, and little for the whole client", async () => {
    const live = await bundle('export { connectLive } from "millrace/live"', { external: ["socket.io-client"] })
    expect(live.text).to.include("resumable")
    expect(live.gzipped).to.be.below(4_096)
    const client = await bundle('export { millrace } from "millrace/client"', { external: ["socket.io-client"] })
    expect(client.text).to.include("/v1/datasets")
    expect(client.gzipped).to.be.below(10_240)
  })

  it("calls, pages and listens in Chromium, through a connection that is cut", async () => {
    const host = await testHost({ env: { MILLRACE_SERVER_CORS_ORIGINS: "*" } })
    const proxy = await cuttingProxy(host.url)
    const { text } = await bundle('export { millrace } from "millrace/client"', { format: "iife", globalName: "Millrace" })
    const site = createServer((_request, response) => void response.setHeader("content-type", "text/html").end(`<script>${text}</script>`))
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve))
    let browser: Browser | undefined
    try {
      await host.api("POST", "/v1/datasets", { name: "Leads" })
      const { body: pipeline } = await host.api<{ inbound_url: string }>("POST", "/v1/event-pipelines", {
        name: "Tell",
        state: "active",
        auth_mode: "none",
        pipeline: [{ type: "live.broadcast", channel: "told", data: { n: "{{ event.n }}" } }],
      })
      const send = (n: number) =>
        fetch(pipeline.inbound_url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ n }) })
      browser = await launchChromium()
      const page = await browser.newPage()
      await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`)
      const called = await page.evaluate(inPage, { baseUrl: proxy.url, key: host.adminKey })
      expect(called).to.deep.equal({ slugs: ["leads"], code: "not_found", status: 404, rows: [3, 2, 1], csv: true })
      await send(1)
      proxy.cutNow()
      await send(2)
      await send(3)
      await page.waitForFunction("globalThis.heard.length >= 3")
      expect(await page.evaluate("globalThis.heard")).to.deep.equal([1, 2, 3])
    } finally {
      await browser?.close()
      site.close()
      await proxy.close()
      await host.stop()
    }
  })
})

type Page = { heard: number[]; Millrace: typeof import("../../client/index.ts") }

/** Runs in the browser. */
async function inPage(options: { baseUrl: string; key: string }) {
  const page = globalThis as unknown as Page
  const client = page.Millrace.millrace(options)
  const { datasets } = await client.datasets.list()
  const failure = (await client.datasets.get({ slug: "none" }).catch((error: unknown) => error)) as { code: string; status: number }
  await client.datasets.insertRows({ slug: "leads", rows: [{ n: 1 }, { n: 2 }, { n: 3 }] })
  const rows: unknown[] = []
  for await (const row of client.datasets.listRows.each({ slug: "leads", limit: 1, sort: "-n" })) rows.push(row.values["n"])
  const csv = await (await client.datasets.export({ slug: "leads" })).text()
  page.heard = []
  const live = await client.live<{ told: { n: number } }>({ reconnectMs: 10 })
  await live.subscribe("told", ({ data }) => page.heard.push(data.n)).ready
  return { slugs: datasets.map(({ slug }) => slug), code: failure.code, status: failure.status, rows, csv: csv.split("\n").length >= 4 }
}
