// Commands with unwritable output: a full disk, a file at its size limit.
import { execFile } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { projectRoot } from "../import-graph.ts"

describe("operations as commands", function () {
  this.timeout(900_000)
  let host: TestHost
  let folder: string
  before(async () => {
    host = await testHost()
    folder = mkdtempSync(join(tmpdir(), "millrace-output-"))
    const rows = Array.from({ length: 300 }, (_, n) => ({ n, text: "x".repeat(40) }))
    for (const slug of ["many", "export"]) {
      await host.api("POST", "/v1/datasets", { name: slug, slug })
      const { status } = await host.api("POST", `/v1/datasets/${slug}/rows`, { rows })
      expect(status).to.equal(200)
    }
  })
  after(async () => {
    await host.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const env = () => ({ MILLRACE_URL: host.url, MILLRACE_KEY: host.adminKey, XDG_CONFIG_HOME: folder })

  it("say in one line that what they print cannot be written, as every other command does", async function () {
    if (!existsSync("/dev/full")) this.skip()
    const bash = (line: string) =>
      promisify(execFile)("bash", ["--norc", "-c", line], { env: { PATH: process.env["PATH"], ...env() }, cwd: folder }).then(
        () => ({ code: 0, stderr: "" }),
        ({ code, stderr }: { code: number; stderr: string }) => ({ code, stderr }),
      )
    const program = `"${process.execPath}" "${join(projectRoot, "core/millrace.js")}"`
    const commands = [
      "datasets list --json",
      "datasets list-rows many --all --json",
      "datasets export many",
      "schema",
      `pipelines validate "${join(projectRoot, "pipelines/website-lead.yaml")}"`,
    ]
    for (const command of commands) {
      expect(await bash(`${program} ${command} > /dev/full`), command).to.deep.equal({
        code: 1,
        stderr: "Standard output cannot be written: ENOSPC: no space left on device, write\n",
      })
    }
    // Files may grow to 16 KiB here.
    const { code, stderr } = await bash(`ulimit -f 16; ${program} datasets export export --output most.csv`)
    expect([code, stderr]).to.deep.equal([1, "most.csv cannot be written: EFBIG: file too large, write\n"])
    expect(readdirSync(folder).filter((name) => name.startsWith("most.csv"))).to.deep.equal([])
  })
})
