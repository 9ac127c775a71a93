// The service under test as an operator runs it: `core/start.js` in production mode with default settings, in a separate process,
// with data on the project's own disk. Its cost and its stored data are read from outside.
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { generateKey } from "../../../plugins/platform/organizations/index.ts"
import { projectRoot } from "../../import-graph.ts"
import { outputUntil } from "../../processes.ts"
import { benchFolder } from "../machine.ts"
import { type Books, mongoBooks, sqliteBooks } from "./books.ts"
import { type ProcessTree, processTree } from "./cpu.ts"

export interface ServiceOptions {
  /** MongoDB URL; absent: the embedded store. */
  readonly storageUrl?: string
  readonly env?: Readonly<Record<string, string>>
  /** Modules of the bench loaded before the service and in its threads. */
  readonly preload?: readonly string[]
}

export interface Service {
  readonly url: string
  readonly pid: number
  readonly tree: ProcessTree
  /** Calls the API with the admin key. Throws on any status other than 2xx. */
  api<T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<T>
  /** Returns the text of /metrics. */
  metrics(): Promise<string>
  /** Counts the data on disk from another process. */
  books(): Promise<Books>
  /** Returns the causes of rejected events, one of each kind per pipeline. */
  explain(): Promise<string>
  stop(): Promise<void>
}

export async function startService({ storageUrl, env = {}, preload = [] }: ServiceOptions = {}): Promise<Service> {
  const dataDir = benchFolder()
  const key = generateKey("api_key").text
  const imports = preload.flatMap((file) => ["--import", join(import.meta.dirname, file)])
  const child = spawn(process.execPath, [...imports, join(projectRoot, "core/start.js")], {
    cwd: dataDir,
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      PATH: process.env["PATH"],
      NODE_ENV: "production",
      PORT: "0",
      MILLRACE_DATA_DIR: dataDir,
      MILLRACE_PIPELINES_PATHS: ",",
      MILLRACE_LOG_LEVEL: "warn",
      MILLRACE_BOOTSTRAP_KEY: key,
      MILLRACE_METRICS_TOKEN: key,
      MILLRACE_MASTER_KEY: randomBytes(32).toString("base64"),
      ...(storageUrl === undefined ? {} : { MILLRACE_STORAGE_URL: storageUrl }),
      ...env,
    },
  })
  const kill = () => void child.kill("SIGKILL")
  process.once("exit", kill)
  const ended = once(child, "exit")
  const remove = () => rmSync(dataDir, { recursive: true, force: true })
  try {
    const greeting = await outputUntil(child, /base address +http:\/\/\S+\n/)
    const url = /base address +(http:\/\/\S+)/.exec(greeting)?.[1] ?? ""
    const pid = child.pid ?? 0
    const api: Service["api"] = (method, path, body) => call(url + path, key, method, body)
    // Forwards later warnings.
    child.stdout.pipe(process.stderr)
    return {
      url,
      pid,
      tree: processTree(pid),
      api,
      metrics: async () => await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${key}` } })).text(),
      explain: () => notAccepted(api),
      books: () => (storageUrl === undefined ? sqliteBooks(join(dataDir, "millrace.db")) : mongoBooks(storageUrl)),
      async stop() {
        process.off("exit", kill)
        child.kill("SIGTERM")
        const late = setTimeout(kill, 20_000)
        await ended
        clearTimeout(late)
        remove()
      },
    }
  } catch (error) {
    kill()
    remove()
    throw error
  }
}

async function notAccepted(api: Service["api"]): Promise<string> {
  const matches: string[] = []
  const { event_pipelines } = await api<{ event_pipelines: { slug: string }[] }>("GET", "/v1/event-pipelines?limit=200")
  for (const { slug } of event_pipelines) {
    for (const status of ["failed", "rejected"]) {
      const path = `/v1/event-pipelines/${slug}/executions?status=${status}&limit=1`
      const { executions } = await api<{ executions: { cause: string; error: { message: string } | null }[] }>("GET", path)
      for (const { cause, error } of executions) matches.push(`${slug} ${status}: ${cause} (${error?.message})`)
    }
  }
  return matches.join("; ")
}

async function call<T>(url: string, key: string, method: string, body: unknown): Promise<T> {
  const answer = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${url} was answered ${answer.status}: ${text}`)
  return JSON.parse(text) as T
}
