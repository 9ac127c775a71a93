// A service with an unwritable standard output continues to run.
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { frameworkRoot } from "../../core/bootstrap/runtime.ts"
import { finished } from "../processes.ts"
import { untilProcess as until } from "../waiting.ts"

describe("a service whose output is lost", () => {
  it("starts, serves and stops", async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-output-"))
    const env = { ...process.env, PORT: "0", MILLRACE_DATA_DIR: folder, MILLRACE_PIPELINES_PATHS: ",", NODE_ENV: "" }
    const child = spawn(process.execPath, [join(frameworkRoot, "core/millrace.js"), "start"], {
      cwd: folder,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    })
    const ended = finished(child)
    child.stdout.destroy()
    child.stderr.destroy()
    try {
      let url = ""
      await until("the service to be ready", async () => {
        if (child.exitCode !== null) return true
        // Written before the service listens, and again with the port.
        const text = existsSync(join(folder, "bootstrap.json")) ? readFileSync(join(folder, "bootstrap.json"), "utf8") : ""
        url = /"base_url": "([^"]+)"/.exec(text)?.[1] ?? ""
        return url !== "" && (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 200
      })
      expect(child.exitCode).to.equal(null)
      // Refused requests are logged.
      for (let n = 0; n < 20; n++) await fetch(`${url}/v1/inbound/nothing`, { method: "POST" })
      child.kill("SIGTERM")
      expect((await ended).code).to.equal(0)
    } finally {
      child.kill("SIGKILL")
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
