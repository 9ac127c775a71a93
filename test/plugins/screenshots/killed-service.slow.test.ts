// A service that dies during a render: its browser also dies, and the job is resumed.
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative, resolve } from "node:path"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { browserFolder } from "../../chromium.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { allGone, renderers } from "./renderers.ts"
import { startSite } from "./site.ts"
import { finished, pictureOf } from "./taking.ts"

const main = resolve(import.meta.dirname, "../../../core/main.ts")

describe("screenshots: a service that is killed", () => {
  it("leaves no browser behind, and the next one finishes its job", async () => {
    let comes = false
    const site = await startSite({
      "/late": (_request, response) => {
        if (comes) response.writeHead(200, { "content-type": "text/html" }).end('<body style="background:green">')
      },
    })
    const dataDir = mkdtempSync(join(tmpdir(), "millrace-killed-"))
    const env = {
      // Relative, like the default folder.
      ...pluginSettings({ screenshots: { browser_folder: relative(process.cwd(), browserFolder), deadline_ms: 300_000 } }),
      MILLRACE_OUTGOING_ALLOW_HOSTS: site.host,
    }
    const service = spawn(process.execPath, [main], {
      env: { ...env, PATH: process.env["PATH"], TMPDIR: dataDir, PORT: "0", MILLRACE_DATA_DIR: dataDir, MILLRACE_PIPELINES_PATHS: "," },
      stdio: ["ignore", "pipe", "inherit"],
    })
    let host: TestHost | undefined
    try {
      const url = await addressOf(service)
      const key = (JSON.parse(readFileSync(join(dataDir, "bootstrap.json"), "utf8")) as { admin_key: string }).admin_key
      const answer = await fetch(`${url}/v1/screenshot/start`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ url: `${site.origin}/late` }),
      })
      const { job_id } = (await answer.json()) as { job_id: string }
      await site.wasAsked("/late")
      expect(renderers(dataDir)).not.to.deep.equal([])
      const ended = once(service, "exit")
      service.kill("SIGKILL")
      await ended
      await allGone(dataDir)
      comes = true
      host = await testHost({ dataDir, env })
      // The dead service's lease expires.
      host.clock.move(host.runtime.config.jobs.lease_ms)
      const result = await finished(host, job_id)
      expect((await pictureOf(result)).at(600, 600)).to.deep.equal([0, 128, 0])
      expect(site.asked.filter((path) => path === "/late")).to.have.length(2)
    } finally {
      service.kill("SIGKILL")
      await host?.stop()
      await site.close()
      rmSync(dataDir, { recursive: true, force: true })
    }
  })
})

function addressOf(service: ChildProcess): Promise<string> {
  return new Promise((found, reject) => {
    let message = ""
    service.stdout?.on("data", (text: Buffer) => {
      message += String(text)
      const url = /"url":"(http:[^"]+)","msg":"listening"/.exec(message)?.[1]
      if (url) found(url)
    })
    service.once("exit", () => reject(new Error(`The service ended before it listened: ${message}`)))
  })
}
