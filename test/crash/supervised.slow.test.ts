// Unhandled faults in a supervised service under load. The books agree afterwards.
import { spawn } from "node:child_process"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { freePort } from "../free-port.ts"
import { projectRoot } from "../import-graph.ts"
import { finished, outputUntil } from "../processes.ts"
import { untilProcess as until } from "../waiting.ts"
import { freshFolder, killGroup, launch, type ServiceProcess, startService } from "./service-process.ts"
import { acknowledged, underLoad } from "./under-load.ts"

/** Places of faults, in turn. True if the fault belongs to the service instead of one request or job. */
const faults = {
  throw: [
    ["commit", false],
    ["checkpoint", true],
    ["job", false],
    ["lease", true],
  ],
  drop: [
    ["commit", false],
    ["checkpoint", true],
    ["lease", true],
    ["job", true],
  ],
} as const

describe("faults in the service's own code", () => {
  for (const [way, places] of Object.entries(faults)) {
    it(`${way}: the service continues or starts again, and the books agree`, async () => {
      const port = await freePort()
      const folder = freshFolder()
      const { findings } = await underLoad({
        dataDir: folder.path,
        faults: ["throws"],
        supervised: true,
        keepsOn: true,
        connections: 8,
        env: { PORT: String(port) },
        async happens(service, sender) {
          let starts = 0
          for (const [place, ends] of places) {
            writeFileSync(join(folder.path, "fault"), `${place} ${way}`)
            await until(`the fault in ${place}`, () => service.output().includes(`a fault of the test in ${place}`))
            if (ends) starts++
            await until(`${starts} starts`, () => countOf(service, /starts again in \d+ ms/g) >= starts)
            await acknowledged(sender, 200)
            expect(countOf(service, /starts again in \d+ ms/g), place).to.equal(starts)
            expect(countOf(service, /drains and exits/g), place).to.equal(starts)
          }
        },
      })
      folder.remove()
      expect(findings.problems).to.deep.equal([])
    })
  }
})

function countOf(service: ServiceProcess, pattern: RegExp): number {
  return service.output().match(pattern)?.length ?? 0
}

describe("supervisor", () => {
  const folder = freshFolder()
  after(() => folder.remove())
  const env = (more: Record<string, string> = {}) => ({ MILLRACE_SERVER_DRAIN_MS: "5000", ...more })
  /** Processes in this test's working folder. */
  const running = () =>
    readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => existsSync(`/proc/${pid}/cwd`) && environmentOf(pid).includes(`MILLRACE_DATA_DIR=${folder.path}`))

  it("ends with the code of a first start that fails, without another start", async () => {
    const { code, output } = await finished(launch({ dataDir: folder.path, supervised: true, env: env({ MILLRACE_WORKERS: "2" }) }))
    expect(code).to.equal(1)
    expect(output).to.include("Millrace cannot start").and.not.include("starts again")
  })

  it("stops after five exits, each within a minute of the start", async () => {
    const port = await freePort()
    const options = { dataDir: folder.path, supervised: true, faults: ["exits"], env: env({ PORT: String(port) }) }
    const { code, output } = await finished(launch(options))
    expect(code).to.equal(1)
    expect(output.match(/starts again in (\d+) ms/g)).to.deep.equal([500, 1_000, 2_000, 4_000].map((ms) => `starts again in ${ms} ms`))
    expect(output).to.include("5 times within a minute of its start")
  })

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it(`passes ${signal} on, and the service drains`, async () => {
      const service = await startService({ dataDir: folder.path, supervised: true, env: env({ MILLRACE_LOG_LEVEL: "info" }) })
      service.signal(signal)
      expect(await service.ended()).to.equal(0)
      expect(service.output()).to.match(/stopping/)
      await until("the end of all processes", () => running().length === 0)
    })
  }

  it("takes the service and its children along when it is killed", async () => {
    const service = await startService({ dataDir: folder.path, supervised: true, env: env() })
    expect(running().length).to.be.at.least(2)
    process.kill(service.pid, "SIGKILL")
    await until("the end of all processes", () => running().length === 0)
  })

  for (const [name, command] of [
    ["npm start", ["npm", "start"]],
    ["npx millrace start", ["npx", "millrace", "start"]],
  ] as const)
    for (const signal of ["SIGTERM", "SIGINT", "SIGKILL"] as const) {
      // dash, between npx and the service, does not forward a SIGINT. A terminal sends it to the whole process group.
      const toGroup = name.startsWith("npx") && signal === "SIGINT"
      it(`${name}: ${signal} leaves no process and no port behind`, async () => {
        const port = await freePort()
        const [file = "", ...args] = command
        const child = spawn(file, args, {
          cwd: projectRoot,
          detached: true,
          stdio: ["ignore", "pipe", "pipe"],
          env: { ...process.env, PORT: String(port), MILLRACE_DATA_DIR: folder.path, MILLRACE_PIPELINES_PATHS: ",", ...env() },
        })
        try {
          await outputUntil(child, /base address +http:\/\/\S+\n/)
          process.kill(toGroup ? -(child.pid ?? 0) : (child.pid ?? 0), signal)
          await until("the end of all processes", () => running().length === 0)
          await until("the port", () =>
            fetch(`http://127.0.0.1:${port}/healthz`).then(
              () => false,
              () => true,
            ),
          )
        } finally {
          killGroup(child)
        }
      })
    }

  it("drains as PID 1", async function () {
    const under = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    const can = await finished(spawn(under[0] ?? "", [...under.slice(1), "true"])).then(
      ({ code }) => code === 0,
      () => false,
    )
    if (!can) return this.skip()
    const service = await startService({ dataDir: folder.path, supervised: true, under, env: env({ MILLRACE_LOG_LEVEL: "info" }) })
    const [first] = readFileSync(`/proc/${service.pid}/task/${service.pid}/children`, "utf8").split(" ")
    process.kill(Number(first), "SIGTERM")
    expect(await service.ended()).to.equal(0)
    expect(service.output()).to.match(/stopping/)
  })
})

function environmentOf(pid: string): string {
  try {
    return readFileSync(join("/proc", pid, "environ"), "utf8")
  } catch {
    return ""
  }
}
