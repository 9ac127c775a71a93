// A sandbox child whose foreign code has escaped its isolate. It starts confined like any child, then runs a test's attempts with
// all of Node's features in its own realm.
import { execFileSync } from "node:child_process"
import { createSocket } from "node:dgram"
import { resolve4 } from "node:dns/promises"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { open } from "node:fs/promises"
import { createRequire } from "node:module"
import { connect, createServer } from "node:net"
import { Worker } from "node:worker_threads"
import { openChild } from "../../../core/pipeline/sandbox/child/open-child.ts"

type Attempt = (target: string) => unknown

const require = createRequire(import.meta.url)
const later = (begin: (callback: (error?: Error | null) => void) => unknown) =>
  new Promise<string>((resolve, reject) => begin((error) => (error ? reject(error) : resolve("done"))))

const attempts: Record<string, Attempt> = {
  "reads a file": (path) => readFileSync(path, "utf8"),
  "reads a file by promise": async (path) => (await open(path)).readFile("utf8"),
  "reads its own source": () => readFileSync(import.meta.filename, "utf8"),
  "lists a folder": (path) => readdirSync(path),
  "writes a file": (path) => writeFileSync(path, "x"),
  "opens a database": (path) => new (require("node:sqlite").DatabaseSync)(path),
  "loads an addon": (path) => process.getBuiltinModule("node:process").dlopen({ exports: {} }, path),
  "requires an addon": (path) => require(path),
  "imports a file": (path) => import(path),
  "starts a process": () => execFileSync(process.execPath, ["--version"]),
  "starts a thread": (path) => new Worker(path, { execArgv: [] }),
  "connects by TCP": (port) => later((callback) => connect(Number(port), "127.0.0.1", callback).on("error", callback)),
  "connects to a socket file": (path) => later((callback) => connect(path, callback).on("error", callback)),
  fetches: async (port) => (await fetch(`http://127.0.0.1:${port}/`)).status,
  "sends a datagram": (port) => {
    const socket = createSocket("udp4")
    return later((callback) => socket.on("error", callback).send("x", Number(port), "127.0.0.1", callback))
  },
  listens: () => later((callback) => createServer().on("error", callback).listen(0, callback)),
  "asks a name server": () => resolve4("example.com"),
  "signals the service": () => process.kill(process.ppid, 0),
  "becomes root": () => {
    ;(process as { setuid(id: number): void }).setuid(0)
  },
  "binds internals": (name) => (process as unknown as { binding(name: string): unknown }).binding(name),
  "writes a report": () => process.report.writeReport("/tmp/millrace-escaped.json"),
  "finds its pipe": () => (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles().length,
  "has permissions": () =>
    ["fs.read", "fs.write", "child", "worker", "wasi", "inspector", "addon"].filter((value) => process.permission.has(value)),
  "reads its environment": () => Object.keys(process.env).sort(),
  "is of the user": () => process.getuid?.(),
}

openChild({
  load() {},
  async onFrame([name = "", target = ""], send) {
    try {
      send([name, "did", JSON.stringify((await attempts[name]?.(target)) ?? null)])
    } catch (error) {
      send([name, "denied", String(error)])
    }
  },
})
