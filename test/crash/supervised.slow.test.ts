// Faults that no code handles, in a service under its supervisor and under load. The books agree afterwards.
import { spawn } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { freePort } from "../free-port.ts"
import { projectRoot } from "../import-graph.ts"
import { finished, outputUntil } from "../processes.ts"
import { until } from "../waiting.ts"
import { freshFolder, killGroup, launch, startService } from "./service-process.ts"
import { acknowledged, underLoad } from "./under-load.ts"

/** Whether the fault belongs to the service and not to one request or job. */
const faults: readonly (readonly [fault: string, ends: boolean])[] = [
  ["commit throw", false],
  ["commit drop", false],
  ["checkpoint throw", true],
  ["checkpoint drop", true],
  ["lease throw", true],
  ["lease drop", true],
  ["job throw", false],
  ["job drop", true],
]

describe("a fault in the service's own code", () => {
  for (const [fault, ends] of faults) {
    it(`${fault}: ${ends ? "the service drains and starts again" : "the service continues"}, and the books agree`, async () => {
      const port = await freePort()
      const { findings } = await underLoad({
        faults: ["throws"],
        supervised: true,
        keepsOn: true,
        connections: 8,
        env: { PORT: String(port), THROWS_IN: fault },
        async happens(service, sender) {
          if (ends) {
            await until("the restart", () => /starts again in \d+ ms/.test(service.said()))
            expect(service.said()).to.match(/drains and exits/)
          } else await until("the fault", () => /a fault of the test/.test(service.said()))
          await acknowledged(sender, 200)
          if (!ends) expect(service.said()).not.to.match(/starts again/)
        },
      })
      expect(findings.problems).to.deep.equal([])
    })
  }
})

describe("supervisor", () => {
  const folder = freshFolder()
  after(() => folder.remove())
  const env = (more: Record<string, string> = {}) => ({ MILLRACE_SERVER_DRAIN_MS: "5000", ...more })
  /** Processes whose folder of work is the one of this test. */
  const running = () =>
    readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => existsSync(`/proc/${pid}/cwd`) && environmentOf(pid).includes(`MILLRACE_DATA_DIR=${folder.path}`))

  it("ends with the code of a first start that fails, without another start", async () => {
    const { code, output } = await finished(launch({ dataDir: folder.path, supervised: true, env: env({ MILLRACE_WORKERS: "2" }) }))
    expect(code).to.equal(1)
    expect(output).to.include("Millrace cannot start").and.not.include("starts again")
  })

  it("stops after five exits in a minute", async () => {
    const port = await freePort()
    const options = { dataDir: folder.path, supervised: true, faults: ["exits"], env: env({ PORT: String(port) }) }
    const { code, output } = await finished(launch(options))
    expect(code).to.equal(1)
    expect(output.match(/starts again in (\d+) ms/g)).to.deep.equal([500, 1_000, 2_000, 4_000].map((ms) => `starts again in ${ms} ms`))
    expect(output).to.include("5 times in a minute")
  })

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it(`passes ${signal} on, and the service drains`, async () => {
      const service = await startService({ dataDir: folder.path, supervised: true, env: env({ MILLRACE_LOG_LEVEL: "info" }) })
      service.signal(signal)
      expect(await service.ended()).to.equal(0)
      expect(service.said()).to.match(/stopping/)
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
      // dash, between npx and the service, keeps a SIGINT for itself. A terminal sends it to the whole process group.
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
    expect(service.said()).to.match(/stopping/)
  })
})

function environmentOf(pid: string): string {
  try {
    return readFileSync(join("/proc", pid, "environ"), "utf8")
  } catch {
    return ""
  }
}
