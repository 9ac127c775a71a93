// A full service on a temporary folder, with real parts, for tests of plugins.
import { createHmac } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type BuildArgs, buildRuntime, frameworkRoot, type Runtime } from "../bootstrap/runtime.ts"
import type { Json } from "../contract/collection.ts"
import { Operations } from "../contract/operation.ts"
import type { OutgoingCall, OutgoingMail } from "../contract/outgoing.ts"
import type { AnyPlugin } from "../contract/registrar.ts"
import type { Clock } from "../kernel/clock.ts"
import { loadConfig } from "../kernel/config.ts"
import type { Key } from "../kernel/di.ts"
import { jsonOrText } from "../kernel/json.ts"
import { createLog } from "../kernel/log.ts"
import { MovableClock } from "../kernel/movable-clock.ts"
import { sharedSandbox } from "../pipeline/sandbox/shared-sandbox.ts"
import { CapturedOutgoing } from "../rehearsal/captured-outgoing.ts"
import { CapturedBroadcasts } from "../rehearsal/rehearsal.ts"
import { Invoker } from "../surface/invoke.ts"

/** Options of a test service. All fields are optional. */
export interface TestHostOptions {
  /** Plugins besides the shipped plugins. */
  readonly plugins?: readonly AnyPlugin[]
  /** Settings by variable name, as set by an operator (`MILLRACE_INBOUND_MAX_BODY_BYTES`). */
  readonly env?: Readonly<Record<string, string>>
  /** Replaces the default clock. The default clock follows the system until `host.clock` moves it. */
  readonly clock?: Clock
  /**
   * True: mail and calls through the service are captured in `host.mails` and `host.calls` instead of sent. False: they are sent.
   * Direct `fetch` calls of a plugin are always sent.
   */
  readonly capture?: boolean
  /** A permanent data folder. Default: a temporary folder. */
  readonly dataDir?: string
  /** Loads the pipelines shipped with the project. */
  readonly shippedPipelines?: boolean
  /**
   * Starts separate processes for schemas and transforms, with logs and metrics, as in a service. By default the test services of
   * a process share them. Sharing is faster.
   */
  readonly ownSandbox?: boolean
}

/** A running service for a test, with functions for tests. */
export interface TestHost {
  readonly url: string
  readonly dataDir: string
  readonly adminKey: string
  readonly organization: { readonly id: string; readonly slug: string }
  readonly runtime: Runtime
  /** Recorded log lines, one JSON object each. */
  readonly logged: readonly string[]
  /** Moves time: `move(ms)` runs the timers in between, `set(time)` stops wall time at this value. */
  readonly clock: MovableClock
  /** Answers to calls (`outgoing.fixtures`). An unanswered call fails, and no call leaves the process. */
  readonly outgoing: CapturedOutgoing
  readonly mails: readonly OutgoingMail[]
  readonly calls: readonly OutgoingCall[]
  /** Live messages of the organization since the start of the service, oldest first. */
  broadcasts(channel?: string): Promise<readonly Broadcast[]>
  /** Posts an event to a pipeline's endpoint like a sender. Objects are sent as JSON, texts unchanged. */
  send<T = Record<string, unknown>>(
    pipeline: { readonly inbound_url: string | null },
    event: unknown,
    options?: SendOptions,
  ): Promise<ApiResponse<T>>
  /** Calls an operation by name with the admin key, without HTTP. Throws AppError like the operation. */
  invoke<T = Record<string, unknown>>(operation: string, input: unknown, options?: { readonly key?: string }): Promise<T>
  get<T>(key: Key<T>): T
  /** Sends an API request with the admin key (or `key`), with JSON bodies. */
  api<T = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    options?: { key?: string; headers?: Record<string, string> },
  ): Promise<ApiResponse<T>>
  stop(): Promise<void>
}

/** Response of an HTTP call with parsed JSON. */
export interface ApiResponse<T> {
  readonly status: number
  readonly body: T
  readonly headers: Headers
}

/** Options for sending an event. */
export interface SendOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** Signs the body as in `hmac_sha256`, with the secret returned at creation of the pipeline. */
  readonly secret?: string
}

/** A live message as received by subscribers. */
export interface Broadcast {
  readonly channel: string
  readonly event: string
  readonly data: Json
}

/** A test machine may pause for seconds. A 503 response after a pause is outside the scope of these tests. */
const storagePatience = { leaseMs: 30_000, readMs: 30_000 }

/** Boots a service on a free port with the plugins in `plugins/` and in `options`. The caller stops the service. */
export async function testHost(options: TestHostOptions = {}): Promise<TestHost> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), "millrace-test-"))
  const own = {
    PORT: "0",
    MILLRACE_SERVER_LEAVE_MS: "0",
    MILLRACE_DATA_DIR: dataDir,
    ...(options.shippedPipelines ? {} : { MILLRACE_PIPELINES_PATHS: "," }),
  }
  const { config } = loadConfig({ defaults: join(frameworkRoot, "config/default.yaml"), env: { ...own, ...options.env } })
  const logged: string[] = []
  const log = createLog(options.env?.["MILLRACE_LOG_LEVEL"] ?? "info", { write: (line) => void logged.push(line) })
  const clock = new MovableClock()
  const outgoing = new CapturedOutgoing()
  const broadcasts = new CapturedBroadcasts()
  const sandbox = options.ownSandbox ? undefined : sharedSandbox(config.sandbox)
  const runtime = await started({
    config,
    log,
    plugins: options.plugins ?? [],
    root: frameworkRoot,
    clock: options.clock ?? clock,
    onBroadcast: broadcasts.hear,
    warmSandbox: false,
    sandbox,
    storagePatience,
    ...(options.capture === false ? {} : { capture: outgoing }),
  })
  const { url } = runtime.listening
  const bootstrap = JSON.parse(readFileSync(join(dataDir, "bootstrap.json"), "utf8")) as {
    admin_key: string
    organization: { id: string; slug: string }
  }
  return {
    url,
    dataDir,
    adminKey: bootstrap.admin_key,
    organization: bootstrap.organization,
    runtime,
    logged,
    clock,
    outgoing,
    mails: outgoing.mails,
    calls: outgoing.calls,
    async broadcasts(channel) {
      return broadcasts
        .of(bootstrap.organization.id)
        .filter((message) => message.room.startsWith("c:") && (channel === undefined || message.channel === channel))
        .map(({ channel: name, event, data }) => ({ channel: name, event, data }))
    },
    async send<T>({ inbound_url }: { readonly inbound_url: string | null }, event: unknown, { headers = {}, secret }: SendOptions = {}) {
      if (inbound_url === null) throw new Error("An internal pipeline has no endpoint; send its events through the API.")
      const body = typeof event === "string" ? event : JSON.stringify(event)
      const signed = secret === undefined ? {} : { "x-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}` }
      return answerOf<T>(
        await fetch(inbound_url, { method: "POST", headers: { "content-type": "application/json", ...signed, ...headers }, body }),
      )
    },
    async invoke<T>(name: string, input: unknown, { key = bootstrap.admin_key }: { readonly key?: string } = {}) {
      const operation = runtime.registry.get(Operations, name)
      if (!operation) throw new Error(`The operation "${name}" does not exist.`)
      const credentials = { bearer: key, organization: undefined, surface: "internal", requestId: "test", log } as const
      const answer = await runtime.container.get(Invoker).invoke(operation, input, credentials)
      if (answer.kind === "stream") throw new Error(`${name} answers a stream; call it over HTTP.`)
      return answer.body as T
    },
    get: (token) => runtime.container.get(token),
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
      return answerOf<T>(response)
    },
    async stop() {
      await runtime.stop()
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

async function started(args: BuildArgs): Promise<Runtime> {
  try {
    const runtime = await buildRuntime(args)
    await runtime.start()
    return runtime
  } catch (error) {
    await args.sandbox?.stop()
    throw error
  }
}

async function answerOf<T>(response: Response): Promise<ApiResponse<T>> {
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: (text === "" ? null : jsonOrText(text)) as T }
}
