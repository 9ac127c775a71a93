// Node's compiled code is cached for the next start, including the service's threads.
import { spawn } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs"
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

  const name = `millrace-compiled${process.getuid ? `-${process.getuid()}` : ""}`

  it("is there in threads, and in nothing that is asked not to have one", async () => {
    const { code, output } = await run({})
    expect(code, output).to.equal(0)
    expect(output.trim().startsWith(join(folder, name)), output).to.equal(true)
    expect(readdirSync(folder)).to.deep.equal([name])
    expect(await run({ NODE_DISABLE_COMPILE_CACHE: "1" })).to.deep.equal({ code: 0, output: "none\n" })
  })

  it("is not kept where another user could write", async function () {
    if (process.getuid === undefined) this.skip()
    const [open, linked] = ["open", "linked"].map((item) => join(folder, item)) as [string, string]
    for (const item of [open, linked]) mkdirSync(item)
    mkdirSync(join(open, name))
    chmodSync(join(open, name), 0o777)
    symlinkSync(folder, join(linked, name))
    for (const TMPDIR of [open, linked]) expect(await run({ TMPDIR }), TMPDIR).to.deep.equal({ code: 0, output: "none\n" })
  })

  /** Returns a thread's report of its cache folder. */
  function run(env: Readonly<Record<string, string>>): Promise<{ code: number | string | null; output: string }> {
    const thread = `
      import { getCompileCacheDir } from "node:module"
      import { parentPort } from "node:worker_threads"
      parentPort.postMessage(getCompileCacheDir() ?? "none")`
    const script = `
      await import(${JSON.stringify(new URL("../core/compile-cache.js", import.meta.url).href)})
      const { Worker } = await import("node:worker_threads")
      new Worker(${JSON.stringify(thread)}, { eval: true }).once("message", (directory) => console.log(directory))`
    return finished(spawn(process.execPath, ["--input-type=module", "-e", script], { env: { TMPDIR: folder, ...env } }))
  }
})
