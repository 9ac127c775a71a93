// Runs the service in a child process and restarts it after a fault. Signals are passed to the service, and the service drains.
import { type ChildProcess, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { supervisedVariable, type ToService, type ToSupervisor } from "./cluster/supervised.ts"

/** Maximum number of exits in a row. Only exits within a minute of listening count. */
const maxExits = 5
const steadyMs = 60_000
const minPauseMs = 500
/** npm sends a signal of the terminal a second time. */
const sameSignalMs = 1_000
const parentLookMs = 250

const main = fileURLToPath(new URL("./main.ts", import.meta.url))

class Supervisor {
  #child: ChildProcess | undefined
  #exits = 0
  #hasListened = false
  /** Undefined until the current child listens. */
  #listensSince: number | undefined
  #askedAt: number | undefined
  #pause: NodeJS.Timeout | undefined

  run(): void {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => this.#stop(signal))
    // npm and npx may end without a signal to their child.
    if (process.env["npm_command"] !== undefined) this.#watchParents()
    this.#start()
  }

  #start(): void {
    const { WATCH_REPORT_DEPENDENCIES: _, ...env } = process.env
    const child = spawn(process.execPath, [...process.execArgv, main], {
      stdio: ["inherit", "inherit", "inherit", "ipc"],
      env: { ...env, [supervisedVariable]: "1" },
    })
    this.#child = child
    this.#listensSince = undefined
    child.on("message", (message: ToSupervisor) => {
      if (message !== "listening") return
      this.#hasListened = true
      this.#listensSince ??= performance.now()
    })
    child.once("error", (error) => this.#end(1, `The service could not be started: ${error.message}`))
    child.once("exit", (code, signal) => this.#exited(code, signal))
  }

  #exited(code: number | null, signal: NodeJS.Signals | null): void {
    this.#child = undefined
    // The first start has printed its problem. A second start would print the same.
    if (this.#askedAt !== undefined || code === 0 || !this.#hasListened) {
      this.#end(code ?? 1)
      return
    }
    const wasSteady = performance.now() - (this.#listensSince ?? performance.now()) >= steadyMs
    this.#exits = wasSteady ? 1 : this.#exits + 1
    const how = signal ?? `code ${code}`
    if (this.#exits >= maxExits) {
      this.#end(
        1,
        `The service ended with ${how}, ${maxExits} times within a minute of its start. It is not started again; see its log above.`,
      )
      return
    }
    const pauseMs = minPauseMs * 2 ** (this.#exits - 1)
    console.error(`The service ended with ${how}. It starts again in ${pauseMs} ms.`)
    this.#pause = setTimeout(() => this.#start(), pauseMs)
  }

  #stop(signal: string): void {
    const now = performance.now()
    if (this.#askedAt === undefined) {
      this.#askedAt = now
      clearTimeout(this.#pause)
      if (!this.#child) this.#end(0)
      else if (this.#child.connected) this.#child.send({ stop: signal } satisfies ToService)
      else this.#child.kill("SIGTERM")
    } else if (now - this.#askedAt > sameSignalMs) {
      // The operator does not want to wait.
      this.#child?.kill("SIGKILL")
    }
  }

  #watchParents(): void {
    const parents = parentsOf(process.ppid)
    setInterval(() => {
      if (parentsOf(process.ppid) !== parents && this.#askedAt === undefined) this.#stop("the end of npm")
    }, parentLookMs).unref()
  }

  #end(code: number, message?: string): void {
    if (message !== undefined) console.error(message)
    process.exit(code)
  }
}

/** The parent and its own parent: npx starts a shell between itself and this process. */
function parentsOf(parent: number): string {
  try {
    const stat = readFileSync(`/proc/${parent}/stat`, "utf8")
    return `${parent} ${stat.slice(stat.lastIndexOf(")")).split(" ")[2]}`
  } catch {
    return String(parent)
  }
}

new Supervisor().run()
