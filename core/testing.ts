// The second door, for tests of plugins: a whole service on a temporary folder, with real parts.
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { AnyPlugin } from "./contract/registrar.ts"
import { buildHouse, frameworkRoot, type House } from "./house/house.ts"
import type { Clock } from "./kernel/clock.ts"
import { loadConfig } from "./kernel/config.ts"
import type { Token } from "./kernel/di.ts"
import { createLog } from "./kernel/log.ts"

export interface TestHostOptions {
  /** Plugins beside the shipped ones. */
  readonly plugins?: readonly AnyPlugin[]
  /** Settings by variable name, as an operator would give them (`MILLRACE_INBOUND_MAX_BODY_BYTES`). */
  readonly env?: Readonly<Record<string, string>>
  readonly clock?: Clock
  /** A folder to use and keep; otherwise one is made and removed. */
  readonly dataDir?: string
  /** Load the pipelines that ship with the project. */
  readonly shippedPipelines?: boolean
}

export interface TestHost {
  readonly url: string
  readonly dataDir: string
  readonly adminKey: string
  readonly organization: { readonly id: string; readonly slug: string }
  readonly house: House
  /** What was logged so far, one JSON object a line. */
  readonly logged: readonly string[]
  get<T>(token: Token<T>): T
  /** One call of the API with the admin key (or `key`); JSON in and out. */
  api<T = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    options?: { key?: string; headers?: Record<string, string> },
  ): Promise<ApiAnswer<T>>
  stop(): Promise<void>
}

export interface ApiAnswer<T> {
  readonly status: number
  readonly body: T
  readonly headers: Headers
}

/** Boots a service on a free port; to be stopped by the caller. */
export async function testHost(options: TestHostOptions = {}): Promise<TestHost> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), "millrace-test-"))
  const own = { PORT: "0", MILLRACE_DATA_DIR: dataDir, ...(options.shippedPipelines ? {} : { MILLRACE_PIPELINES_PATHS: "," }) }
  const { config } = loadConfig({ defaults: join(frameworkRoot, "config/default.yaml"), env: { ...own, ...options.env } })
  const logged: string[] = []
  const log = createLog(options.env?.["MILLRACE_LOG_LEVEL"] ?? "info", { write: (line) => void logged.push(line) })
  const house = await buildHouse({
    config,
    log,
    plugins: options.plugins ?? [],
    root: frameworkRoot,
    ...(options.clock ? { clock: options.clock } : {}),
  })
  await house.start()
  const { url } = house.listening
  const bootstrap = JSON.parse(readFileSync(join(dataDir, "bootstrap.json"), "utf8")) as {
    admin_key: string
    organization: { id: string; slug: string }
  }
  return {
    url,
    dataDir,
    adminKey: bootstrap.admin_key,
    organization: bootstrap.organization,
    house,
    logged,
    get: (token) => house.container.get(token),
    async api<T>(
      method: string,
      path: string,
      body?: unknown,
      { key = bootstrap.admin_key, headers = {} }: { key?: string; headers?: Record<string, string> } = {},
    ) {
      const sent = body === undefined ? {} : { body: JSON.stringify(body) }
      const response = await fetch(url + path, {
        method,
        headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
        ...sent,
      })
      const text = await response.text()
      return { status: response.status, headers: response.headers, body: (text === "" ? null : JSON.parse(text)) as T }
    },
    async stop() {
      await house.stop()
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
