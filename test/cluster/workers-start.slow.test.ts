// The start of a service with several workers. A failed start prints its cause and remedy once, and leaves no process behind.
import { once } from "node:events"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { join } from "node:path"
import { expect } from "chai"
import { freshFolder, killGroup, launch } from "../crash/service-process.ts"
import { lendDatabaseToFile, mongoAvailable } from "../mongodb-server.ts"
import { finished } from "../processes.ts"
import { untilProcess as until } from "../waiting.ts"
import { socketFolderOf } from "./worker-sockets.ts"

describe("a service of several workers", () => {
  let folder: ReturnType<typeof freshFolder>
  before(() => {
    folder = freshFolder()
  })
  after(() => folder.remove())

  const refusal = async (dataDir: string, env: Readonly<Record<string, string>>) => {
    const child = launch({ dataDir, env: { MILLRACE_WORKERS: "2", ...env } })
    const { code, output } = await finished(child)
    expect(code, output).to.equal(1)
    expect(socketFolderOf(child.pid ?? 0)).to.equal(undefined)
    return output
  }
  const dataDir = (name: string) => {
    const path = join(folder.path, name)
    mkdirSync(path)
    return path
  }

  it("is refused on the embedded file, which one process owns, and makes no file", async () => {
    const path = dataDir("embedded")
    expect(await refusal(path, {}))
      .to.include("workers is 2")
      .and.include("MILLRACE_STORAGE_URL")
      .and.include("MILLRACE_WORKERS to 1")
    expect(existsSync(join(path, "millrace.db"))).to.equal(false)
  })

  const onMongo = mongoAvailable ? describe : describe.skip
  onMongo("on MongoDB", () => {
    let url = ""
    beforeEach(async () => {
      url = await lendDatabaseToFile()
    })

    it("says when its port is taken", async () => {
      const other = createServer().listen(0, "127.0.0.1")
      await once(other, "listening")
      const { port } = other.address() as AddressInfo
      const output = await refusal(dataDir("port"), { PORT: String(port), MILLRACE_STORAGE_URL: url })
      other.close()
      expect(output).to.include(`127.0.0.1:${port}`).and.include("EADDRINUSE").and.include("set PORT")
    })

    it("says once what keeps a worker from starting", async () => {
      const path = dataDir("refused")
      mkdirSync(join(path, "pipelines"))
      writeFileSync(join(path, "pipelines", "broken.yaml"), "name: Broken\nauth_mode: nonsense\n")
      const output = await refusal(path, { MILLRACE_PIPELINES_PATHS: "pipelines", MILLRACE_STORAGE_URL: url })
      expect(output.match(/Pipeline files are not valid/g), output).to.have.length(1)
      expect(output).to.include("broken.yaml").and.include("nonsense")
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
      // A worker that ignores the stop is killed after twice the drain time.
      const env = {
        MILLRACE_WORKERS: "2",
        MILLRACE_PLUGINS_PATHS: slow,
        MILLRACE_SERVER_DRAIN_MS: "600000",
        MILLRACE_STORAGE_URL: url,
      }
      const service = launch({ dataDir: path, env })
      try {
        const ended = finished(service)
        await until("the plugin of a worker being loaded", () => existsSync(loading))
        service.kill("SIGTERM")
        const { code, output } = await ended
        expect(code, output).to.equal(0)
      } finally {
        killGroup(service)
      }
    })
  })
})
