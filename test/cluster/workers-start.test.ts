// How a service of several workers starts, and how it says that it cannot: once, with what to do, and leaving nobody.
import { once } from "node:events"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { join } from "node:path"
import { expect } from "chai"
import { frameworkRoot } from "../../core/bootstrap/plugins.ts"
import { shareOf } from "../../core/bootstrap/workers/share.ts"
import { loadConfig } from "../../core/kernel/config.ts"
import { freshFolder, killGroup, launch, startService } from "../crash/service-process.ts"
import { finished } from "../processes.ts"

const onLinux = process.platform === "linux" ? describe : describe.skip

onLinux("a service of several workers", () => {
  const folder = freshFolder()
  after(() => folder.remove())

  const refusal = async (dataDir: string, env: Readonly<Record<string, string>>) => {
    const { code, output } = await finished(launch({ dataDir, env: { MILLRACE_WORKERS: "2", ...env } }))
    expect(code, output).to.equal(1)
    return output
  }
  const dataDir = (name: string) => {
    const path = join(folder.path, name)
    mkdirSync(path)
    return path
  }

  it("says when its port is taken", async () => {
    const other = createServer().listen(0, "127.0.0.1")
    await once(other, "listening")
    const { port } = other.address() as AddressInfo
    const output = await refusal(dataDir("port"), { PORT: String(port) })
    other.close()
    expect(output).to.include(`127.0.0.1:${port}`).and.include("EADDRINUSE").and.include("set PORT")
  })

  it("says once what keeps a worker from starting, and takes its socket along", async () => {
    const path = dataDir("refused")
    mkdirSync(join(path, "pipelines"))
    writeFileSync(join(path, "pipelines", "broken.yaml"), "name: Broken\nauth_mode: nonsense\n")
    const output = await refusal(path, { MILLRACE_PIPELINES_PATHS: "pipelines" })
    expect(output.match(/Pipeline files are refused/g), output).to.have.length(1)
    expect(output).to.include("broken.yaml").and.include("nonsense")
    expect(existsSync(join(path, "workers", "parent.sock"))).to.equal(false)
  })

  it("does not start where another one runs, which goes on", async () => {
    const path = dataDir("busy")
    const first = await startService({ dataDir: path, env: { MILLRACE_WORKERS: "2" } })
    try {
      expect(await refusal(path, {})).to.include("in use by another running process")
      expect(await refusal(path, { MILLRACE_WORKERS: "1" })).to.match(/in use by another running process|Another running service/)
      expect((await fetch(`${first.url}/readyz`)).status).to.equal(200)
      first.signal("SIGTERM")
      expect(await first.ended()).to.equal(0)
      expect(existsSync(join(path, "workers", "parent.sock"))).to.equal(false)
    } finally {
      await first.kill()
    }
  })

  it("ends when it is told to while a worker is still being built", async () => {
    const path = dataDir("early")
    const loading = join(path, "loading")
    const slow = join(path, "slow")
    mkdirSync(slow)
    writeFileSync(
      join(slow, "index.js"),
      `import { writeFileSync } from "node:fs"
      writeFileSync(${JSON.stringify(loading)}, "")
      await new Promise(() => setInterval(() => undefined, 1_000))`,
    )
    // A worker that does not hear of it is killed after twice the drain time.
    const env = { MILLRACE_WORKERS: "2", MILLRACE_PLUGINS_PATHS: slow, MILLRACE_SERVER_DRAIN_MS: "600000" }
    const service = launch({ dataDir: path, env })
    try {
      const ended = finished(service)
      while (!existsSync(loading)) await new Promise((resolve) => setTimeout(resolve, 10))
      service.kill("SIGTERM")
      const { code, output } = await ended
      expect(code, output).to.equal(0)
    } finally {
      killGroup(service)
    }
  })

  it("says when its data folder has too long a path for sockets", async () => {
    const path = dataDir("long")
    const long = join(path, "x".repeat(120))
    expect(await refusal(path, { MILLRACE_DATA_DIR: long }))
      .to.include("too long")
      .and.include("MILLRACE_DATA_DIR")
  })
})

describe("a worker's share", () => {
  it("of what may be under way adds up to the whole, and is never nothing", () => {
    const { config } = loadConfig({ defaults: join(frameworkRoot, "config/default.yaml"), env: {} })
    const whole = { ...config, inbound: { ...config.inbound, max_in_flight: 2_001, rejected_entries_per_minute: 5 } }
    const shares = [0, 1, 2].map((slot) => shareOf(whole, { slot, workers: 3 }).inbound)
    const sum = (of: (one: typeof whole.inbound) => number) => shares.reduce((total, one) => total + of(one), 0)
    expect(sum((one) => one.max_in_flight)).to.equal(2_001)
    expect(sum((one) => one.rejected_entries_per_minute)).to.equal(5)
    expect(sum((one) => one.max_in_flight_per_pipeline)).to.equal(whole.inbound.max_in_flight_per_pipeline)
    const few = { ...whole, inbound: { ...whole.inbound, max_in_flight: 2 } }
    expect([0, 1, 2].map((slot) => shareOf(few, { slot, workers: 3 }).inbound.max_in_flight)).to.deep.equal([1, 1, 1])
  })
})
