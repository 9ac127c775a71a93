// `millrace dev`: restarts when a setting changes.
import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { projectRoot } from "../import-graph.ts"
import { finished, outputUntil } from "../processes.ts"

describe("millrace dev", () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-dev-"))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  it("starts again as a setting changes, tells of a wrong one and goes on when it is mended", async () => {
    const settings = join(folder, "config/millrace.yaml")
    mkdirSync(join(folder, "config"))
    writeFileSync(settings, "plugins: {}\n")
    const env = { PATH: process.env["PATH"], PORT: "0", MILLRACE_PIPELINES_PATHS: "," }
    const child = spawn(process.execPath, [join(projectRoot, "core/millrace.js"), "dev"], { cwd: folder, env })
    const ended = finished(child)
    try {
      await outputUntil(child, /base address/)
      const refused = outputUntil(child, /cannot start\. server\.prot \(from config\/millrace\.yaml\) is not a setting/)
      writeFileSync(settings, "server: { prot: 1 }\n")
      await refused
      const again = outputUntil(child, /base address/)
      writeFileSync(settings, "plugins: {}\n")
      await again
    } finally {
      child.kill("SIGTERM")
      await ended
    }
  })
})
