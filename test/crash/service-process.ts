// The service as a separate process that leads its own process group. A kill of the group includes its children, as a power cut
// would.
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { socketFolderOf } from "../cluster/worker-sockets.ts"
import { projectRoot } from "../import-graph.ts"
import { outputUntil } from "../processes.ts"
import { patiently } from "../waiting.ts"

export interface ServiceOptions {
  readonly dataDir: string
  readonly env?: Readonly<Record<string, string>>
  /** Modules of faults/, or other URLs, loaded before the service and in its threads. */
  readonly faults?: readonly string[]
  /** Runs the service under its supervisor, as `npm start` does. */
  readonly supervised?: boolean
  /** A command around the service's command, for example strace. */
  readonly under?: readonly string[]
}

export interface ServiceProcess {
  readonly url: string
  readonly pid: number
  /** Sends SIGKILL to the whole group. Resolves when the service has ended. */
  kill(): Promise<void>
  /** Resolves with the exit code or the signal. */
  ended(): Promise<number | string | null>
  signal(signal: NodeJS.Signals): void
  /** All output so far. */
  output(): string
}

/** On the project's own disk: /tmp may be memory. */
export function freshFolder(): { readonly path: string; remove(): void } {
  mkdirSync(join(projectRoot, "data/crash"), { recursive: true })
  const path = mkdtempSync(join(projectRoot, "data/crash/"))
  return {
    path,
    remove() {
      rmSync(path, { recursive: true, force: true })
    },
  }
}

export function launch({ dataDir, env = {}, faults = [], under = [], supervised = false }: ServiceOptions): ChildProcess {
  const preloads = faults.flatMap((fault) => [
    "--import",
    new URL(fault.endsWith(".ts") ? fault : `./faults/${fault}.ts`, import.meta.url).href,
  ])
  const [command = "", ...args] = [
    ...under,
    process.execPath,
    ...preloads,
    join(projectRoot, supervised ? "core/supervise.js" : "core/start.js"),
  ]
  return spawn(command, args, {
    detached: true,
    cwd: dataDir,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"],
      PORT: "0",
      MILLRACE_DATA_DIR: dataDir,
      MILLRACE_PIPELINES_PATHS: ",",
      MILLRACE_LOG_LEVEL: "warn",
      // Work of a dead node resumes within the test's time.
      MILLRACE_JOBS_LEASE_MS: "900",
      MILLRACE_JOBS_POLL_MS: "50",
      MILLRACE_RATE_LIMITS_KEY_PER_MINUTE: "1000000",
      MILLRACE_RATE_LIMITS_ORGANIZATION_PER_MINUTE: "1000000",
      ...env,
    },
  })
}

/** Resolves once the service listens. */
export async function startService(options: ServiceOptions): Promise<ServiceProcess> {
  const child = launch(options)
  const exit = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>
  let output = ""
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk: Buffer) => {
      output += chunk.toString()
    })
  const greeting = await outputUntil(child, /base address +http:\/\/\S+\n/)
  const url = /base address +(http:\/\/\S+)/.exec(greeting)?.[1] ?? ""
  const ended = exit.then(([code, signal]) => code ?? signal)
  return {
    url,
    pid: child.pid ?? 0,
    async kill() {
      killGroup(child)
      await ended
      // Removes the dead service's sockets. A later process with the same id would otherwise own them.
      const sockets = socketFolderOf(child.pid ?? 0)
      if (sockets !== undefined) rmSync(sockets, { recursive: true, force: true })
    },
    ended: () => ended,
    signal: (signal) => void child.kill(signal),
    output: () => output,
  }
}

/** The group has the id of its first process, started by `launch`. */
export function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, "SIGKILL")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}

export interface Api {
  <T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<T>
  text(path: string): Promise<string>
}

/** Calls the API with the admin key in the folder. Retries after a 503, within bounds. Throws on any other status than 2xx. */
export function apiOf(service: Pick<ServiceProcess, "url">, dataDir: string): Api {
  const { admin_key } = JSON.parse(readFileSync(join(dataDir, "bootstrap.json"), "utf8")) as { admin_key: string }
  const call = async (method: string, path: string, body?: unknown): Promise<string> => {
    const { status, text } = await patiently(async () => {
      const answer = await fetch(service.url + path, {
        method,
        headers: { authorization: `Bearer ${admin_key}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return { status: answer.status, text: await answer.text() }
    })
    if (status < 200 || status > 299) throw new Error(`${method} ${path} was answered ${status}: ${text}`)
    return text
  }
  const json = async <T>(method: string, path: string, body?: unknown) => JSON.parse(await call(method, path, body)) as T
  return Object.assign(json, { text: (path: string) => call("GET", path) })
}
