// What Node compiled is kept for the next start, of the service's threads too.
import { spawn } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { finished } from "./processes.ts"

describe("the compile cache", () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-compiled-"))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  it("is there in threads, and in nothing that is asked not to have one", async () => {
    const thread = `
      import { getCompileCacheDir } from "node:module"
      import { parentPort } from "node:worker_threads"
      parentPort.postMessage(getCompileCacheDir() ?? "none")`
    const script = `
      await import(${JSON.stringify(new URL("../core/compile-cache.js", import.meta.url).href)})
      const { Worker } = await import("node:worker_threads")
      new Worker(${JSON.stringify(thread)}, { eval: true }).once("message", (directory) => console.log(directory))`
    const run = (env: Readonly<Record<string, string>>) =>
      finished(spawn(process.execPath, ["--input-type=module", "-e", script], { env: { TMPDIR: folder, ...env } }))
    const { code, output } = await run({})
    expect(code, output).to.equal(0)
    expect(output.trim().startsWith(join(folder, "node-compile-cache")), output).to.equal(true)
    expect(readdirSync(folder)).to.deep.equal(["node-compile-cache"])
    expect(await run({ NODE_DISABLE_COMPILE_CACHE: "1" })).to.deep.equal({ code: 0, output: "none\n" })
  })
})
