// The `millrace` command for people: its output and exit codes. Only `start` opens ports or files.
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { parseKey } from "../../plugins/platform/organizations/index.ts"
import { projectRoot } from "../import-graph.ts"
import { finished, outputUntil } from "../processes.ts"
import { runIn } from "./command-line.ts"

const program = join(projectRoot, "core/millrace.js")

describe("millrace", () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-cli-"))
  })
  afterEach(() => {
    for (const child of started.splice(0)) child.kill("SIGTERM")
    rmSync(folder, { recursive: true, force: true })
  })

  /** Ends commands that a failed test left running. */
  const started: ChildProcess[] = []

  function start(args: readonly string[], env: Record<string, string> = {}) {
    const child = spawn(process.execPath, [program, ...args], { cwd: folder, env: { PATH: process.env["PATH"], ...env } })
    started.push(child)
    return child
  }
  const run = (args: readonly string[], env: Record<string, string> = {}) => runIn(folder, args, env)

  it("config shows every setting with its origin, secrets masked, and touches nothing", async () => {
    writeFileSync(join(folder, "own.yaml"), "jobs: { concurrency: 3 }\nplugins: { settings: { email: { footer: Acme } } }\n")
    const { code, output } = await run(["config"], {
      MILLRACE_CONFIG: "own.yaml",
      PORT: "4000",
      MILLRACE_MASTER_KEY: "hunter2-master",
      MILLRACE_STORAGE_URL: "mongodb://me:hunter2@db.example/millrace",
    })
    expect(code, output).to.equal(0)
    const lines = Object.fromEntries(output.split("\n").map((line) => [line.split(" ")[0], line.replace(/^\S+ +/, "")]))
    expect(lines).to.include({
      "server.port": "4000  # variable PORT",
      "jobs.concurrency": "3  # own.yaml",
      "plugins.settings.email.footer": '"Acme"  # own.yaml',
      "plugins.settings.email.transport": `"outbox"  # the plugin's default`,
      master_key: "[set]  # variable MILLRACE_MASTER_KEY",
      bootstrap_key: `null  # ${join(projectRoot, "config/default.yaml")}`,
      "storage.url": '"mongodb://[set]@db.example/millrace"  # variable MILLRACE_STORAGE_URL',
    })
    expect(output).to.not.include("hunter2")
    expect(readdirSync(folder)).to.deep.equal(["own.yaml"])
  })

  it("config refuses what is wrong, all of it at once, without a stack", async () => {
    const { code, output } = await run(["config"], { PORT: "eighty", MILLRACE_SANDBOX_PROCESSES: "0", MILLRACE_INBUOND_GEO: "none" })
    expect(code).to.equal(1)
    expect(output)
      .to.match(/^3 problems:/)
      .and.include("server.port")
      .and.include("sandbox.processes")
      .and.include("MILLRACE_INBUOND_GEO")
    expect(output).to.not.include("    at ")
  })

  it("schema covers the plugins of the user, and opens no store", async () => {
    mkdirSync(join(folder, "mine/wave"), { recursive: true })
    writeFileSync(
      join(folder, "mine/wave/index.ts"),
      `import { z } from "${projectRoot}/node_modules/zod/index.js"
import { defineAction, definePlugin } from "${projectRoot}/core/index.ts"
const wave = defineAction({ type: "hand.wave", summary: "Wave.", timing: "commit", config: z.strictObject({ times: z.int() }), result: z.object({}), examples: [], run: () => ({}) })
export default definePlugin({ id: "wave", config: z.strictObject({}), register: (registrar) => registrar.actions(wave) })
`,
    )
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }')
    const { code, output } = await run(["schema"], { MILLRACE_PLUGINS_PATHS: "mine" })
    expect(code, output).to.equal(0)
    const { $defs } = JSON.parse(output) as { $defs: Record<string, { properties?: Record<string, unknown> }> }
    expect($defs["action.hand.wave"]?.properties).to.have.property("times")
    expect($defs).to.have.property("action.dataset.write")
    expect($defs).to.have.property("auth.hmac_sha256")
    expect(readdirSync(folder).sort()).to.deep.equal(["mine", "package.json"])
  })

  it("make-key prints one API key, another each time", async () => {
    const [first, second] = await Promise.all([run(["make-key"]), run(["make-key"])])
    expect([first.code, second.code]).to.deep.equal([0, 0])
    expect(parseKey(first.output.trim())).to.include({ kind: "api_key" })
    expect(first.output).to.not.equal(second.output)
  })

  it("says its version where the configuration is wrong, too", async () => {
    const { version } = JSON.parse(readFileSync(join(projectRoot, "package.json"), "utf8")) as { version: string }
    const { code, output } = await run(["--version"], { PORT: "nowhere" })
    expect([code, output.trim()]).to.deep.equal([0, version])
  })

  it("ends with 1 and says so when a command or option is unknown, and lists what there is when asked", async () => {
    const [command, option, help] = await Promise.all([run(["strat"]), finished(start(["config", "--chekc"])), run(["--help"])])
    expect(command.code).to.equal(1)
    expect(command.output)
      .to.match(/unknown command 'strat'/)
      .and.match(/Did you mean start/)
    expect(option.code).to.equal(1)
    expect(option.output).to.match(/unknown option '--chekc'/)
    expect(help.code).to.equal(0)
    for (const name of ["start", "config", "schema", "generate", "make-key"]) expect(help.output).to.match(new RegExp(`^  ${name} `, "m"))
  })

  it("start serves until it is asked to stop, and then ends well", async () => {
    const child = start(["start"], { PORT: "0", MILLRACE_PIPELINES_PATHS: "," })
    const ended = finished(child)
    const message = await outputUntil(child, /base address +http:\/\/\S+/)
    const [, url = ""] = /base address +(http:\/\/\S+)/.exec(message) ?? []
    expect((await fetch(`${url}/v1/datasets`)).status).to.equal(401)
    child.kill("SIGTERM")
    expect((await ended).code).to.equal(0)
    expect(existsSync(join(folder, "data/millrace.db"))).to.equal(true)
  })

  it("start ends with 1 and one report when it cannot", async () => {
    const env = { MILLRACE_PLUGINS_PATHS: "acme-none", MILLRACE_PLUGINS_SETTINGS: '{"emial":{}}' }
    const { code, output } = await finished(start(["start"], env))
    expect(code).to.equal(1)
    expect(output)
      .to.match(/^Millrace cannot start\. 2 problems:/)
      .and.include("acme-none")
      .and.include('Did you mean "email"?')
    expect(output).to.not.include("    at ")
  })
})

describe("an older Node", () => {
  const pattern = /^Millrace needs Node 24 or later and this is v20\.\S+: .*npm start.*\n$/

  it("is told in one line what to do, and ends with 1", async () => {
    for (const file of ["start.js", "millrace.js"]) {
      const pretend =
        'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.0.0" } });Object.defineProperty(process, "version", { value: "v20.0.0" })'
      const { code, output } = await finished(
        spawn(process.execPath, ["--import", `data:text/javascript,${encodeURIComponent(pretend)}`, join(projectRoot, "core", file)]),
      )
      expect(code).to.equal(1)
      expect(output).to.match(pattern)
    }
  })

  it("installed on this machine, if any, is told the same", async function () {
    const system = "/usr/bin/node"
    const version = existsSync(system) ? execFileSync(system, ["--version"], { encoding: "utf8" }) : ""
    if (!version.startsWith("v20.")) this.skip()
    const { code, output } = await finished(spawn(system, [join(projectRoot, "core/start.js")]))
    expect(code).to.equal(1)
    expect(output).to.match(pattern)
  })
})
