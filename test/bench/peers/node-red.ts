// Node-RED as a peer with the same work: HTTP in, a function, a line appended to a file, a response. npm installs it into a
// temporary folder that is removed at the end.
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { promisify } from "node:util"
import { freePort } from "../../free-port.ts"
import { benchFolder } from "../machine.ts"
import { BenchProblem } from "../options.ts"

export interface NodeRed {
  readonly version: string
  readonly url: string
  /** Returns the number of appended lines. */
  lines(): number
  stop(): Promise<void>
}

const installMs = 300_000
const startMs = 60_000

/** Throws with a remedy if the installation or the start fails. */
export async function startNodeRed(): Promise<NodeRed> {
  const folder = benchFolder()
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    await install(folder)
    const version = (JSON.parse(readFileSync(join(folder, "node_modules/node-red/package.json"), "utf8")) as { version: string }).version
    const port = await freePort()
    const output = join(folder, "events.jsonl")
    writeFileSync(output, "")
    const user = join(folder, "user")
    mkdirSync(user)
    writeFileSync(join(user, "flows.json"), JSON.stringify(flow(output)))
    writeFileSync(join(user, "package.json"), '{"name":"bench","private":true}')
    writeFileSync(join(user, "settings.js"), settings(port))
    const child = spawn(process.execPath, [join(folder, "node_modules/node-red/red.js"), "--userDir", user], {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, NODE_ENV: "production" },
    })
    const url = `http://127.0.0.1:${port}/lead`
    await answering(url, child)
    return {
      version,
      url,
      lines: () => readFileSync(output).reduce((count, byte) => (byte === 10 ? count + 1 : count), 0),
      async stop() {
        const ended = new Promise((resolve) => child.once("exit", resolve))
        child.kill("SIGKILL")
        await ended
        remove()
      },
    }
  } catch (error) {
    remove()
    throw error
  }
}

async function install(folder: string): Promise<void> {
  writeFileSync(join(folder, "package.json"), '{"name":"bench-peer","private":true}')
  try {
    await promisify(execFile)("npm", ["install", "--no-audit", "--no-fund", "--omit=dev", "--ignore-scripts", "node-red"], {
      cwd: folder,
      timeout: installMs,
      maxBuffer: 16 << 20,
    })
  } catch (cause) {
    const message = String((cause as { stderr?: string }).stderr ?? cause)
      .trim()
      .split("\n")
      .slice(-3)
      .join(" ")
    throw new BenchProblem(`Node-RED could not be installed with npm; --peers needs an npm registry. npm said: ${message}`, { cause })
  }
}

/** Settings without sidebars, editors or logs: only the work. */
function settings(port: number): string {
  const fixed = { uiPort: port, uiHost: "127.0.0.1", flowFile: "flows.json", httpAdminRoot: false, credentialSecret: false }
  return `module.exports = ${JSON.stringify({ ...fixed, logging: { console: { level: "warn" } } })}`
}

/** The function equals the transform of the measured pipeline. */
function flow(output: string): object[] {
  const func = `const event = msg.payload
const lead = { email: event.email.trim().toLowerCase(), name: event.name, budget: Number(event.budget) || 0 }
msg.payload = JSON.stringify(lead)
return msg`
  return [
    { id: "tab", type: "tab", label: "Bench" },
    { id: "in", type: "http in", z: "tab", url: "/lead", method: "post", wires: [["change"]] },
    { id: "change", type: "function", z: "tab", func, outputs: 1, wires: [["append"]] },
    {
      id: "append",
      type: "file",
      z: "tab",
      filename: output,
      filenameType: "str",
      appendNewline: true,
      overwriteFile: "false",
      wires: [["out"]],
    },
    { id: "out", type: "http response", z: "tab", statusCode: "200", headers: {}, wires: [] },
  ]
}

async function answering(url: string, child: ChildProcess): Promise<void> {
  const until = performance.now() + startMs
  const body = JSON.stringify({ email: "first@example.com" })
  while (performance.now() < until && child.exitCode === null) {
    const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body }).catch(() => undefined)
    if (answer?.ok) return
    await pause(200)
  }
  child.kill("SIGKILL")
  throw new BenchProblem(`Node-RED was installed, but did not answer at ${url} within ${startMs / 1_000} s.`)
}
