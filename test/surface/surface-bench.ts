// The surfaces over a real SQLite file and a real port, for tests.
import { randomBytes } from "node:crypto"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Registry } from "prom-client"
import { LocalRateLimiter } from "../../core/cluster/local-rate-limiter.ts"
import { credentialsTopic, sessionCookie } from "../../core/contract/caller.ts"
import type { Channel } from "../../core/contract/channel.ts"
import type { CacheInvalidation } from "../../core/contract/cluster.ts"
import { Pager } from "../../core/contract/pagination.ts"
import { createPauses } from "../../core/contract/pauses.ts"
import type { InboundHandler } from "../../core/contract/route.ts"
import { Store } from "../../core/contract/store.ts"
import { clientAddressReader } from "../../core/kernel/client-address.ts"
import type { Clock } from "../../core/kernel/clock.ts"
import { Container } from "../../core/kernel/di.ts"
import { timeOrderedIds } from "../../core/kernel/ids.ts"
import { createLog } from "../../core/kernel/log.ts"
import { createSqliteDriver } from "../../core/storage/sqlite/driver.ts"
import { createStore } from "../../core/storage/store.ts"
import { AddressLimits } from "../../core/surface/call/address-limits.ts"
import { AuditLog } from "../../core/surface/call/audit.ts"
import { IdempotencyRecords } from "../../core/surface/call/idempotency.ts"
import { RateLimits } from "../../core/surface/call/rate-limit.ts"
import { Connections } from "../../core/surface/http/connections.ts"
import { MetricsPage, type MetricsSettings } from "../../core/surface/http/metrics-page.ts"
import { createHttpServer } from "../../core/surface/http/server.ts"
import { createInvoker } from "../../core/surface/invoke.ts"
import { LiveMessages, LiveNodes, LiveOutboxes } from "../../core/surface/live/messages.ts"
import { createLiveSockets, type LiveSockets } from "../../core/surface/live.ts"
import { createMcpHttp, mcpMethods } from "../../core/surface/mcp/http.ts"
import { openApi } from "../../core/surface/openapi.ts"
import { createPager } from "../../core/surface/pager.ts"
import { createRest } from "../../core/surface/rest.ts"
import { createUnitsOfWork } from "../../core/surface/units-of-work.ts"
import { ShiftedClock } from "../shifted-clock.ts"
import { Keys, Notes, notebook, Stage } from "./operations.ts"

export const endpoint = `in_${"A".repeat(22)}`

export interface SurfaceBenchOptions {
  readonly rateLimits?: { key_per_minute: number; organization_per_minute: number }
  readonly corsOrigins?: readonly string[]
  readonly inbound?: InboundHandler
  readonly drainMs?: number
  readonly leaveMs?: number
  /** Clock of the HTTP server. Default: the clock of the other parts. */
  readonly serverClock?: Clock
  /** Descriptors available for connections. Default: those of the process. */
  readonly free?: () => number
  readonly metrics?: Partial<MetricsSettings>
  readonly channels?: readonly Channel[]
  readonly keepMessages?: number
  readonly endpointOrganization?: string
  readonly anonymousPerAddress?: number
  readonly socketsPerKey?: number
  readonly addressPerMinute?: number
  readonly trustProxy?: readonly string[]
}

export async function openSurfaceBench(options: SurfaceBenchOptions = {}) {
  const folder = await mkdtemp(join(tmpdir(), "millrace-surface-"))
  const clock = new ShiftedClock()
  const ids = timeOrderedIds(clock)
  const logged: string[] = []
  const log = createLog("debug", { write: (line) => void logged.push(line) })
  const collections = [Notes, AuditLog, IdempotencyRecords, LiveMessages, LiveNodes, LiveOutboxes]
  const store = createStore({ driver: createSqliteDriver({ file: join(folder, "test.db") }), collections, clock })
  await store.start()

  const stage = new Stage()
  const keys = new Keys()
  const operations = notebook(stage)
  const works = createUnitsOfWork({ store, ids, clock })
  const container = new Container()
  container.value(Store, store)
  container.value(Pager, createPager({ key: randomBytes(32) }))
  const rateLimits = options.rateLimits ?? { key_per_minute: 100_000, organization_per_minute: 100_000 }
  const rateLimiter = new LocalRateLimiter(clock)
  const addresses = new AddressLimits(rateLimiter, options.addressPerMinute ?? 100_000)
  const addressOf = clientAddressReader(options.trustProxy ?? [])
  const endpoints = { active: true }
  const corsOrigins = options.corsOrigins ?? []
  const pauses = createPauses()
  const makeInvoker = () =>
    createInvoker({
      authenticator: keys,
      addresses,
      rateLimiter,
      store,
      clock,
      ids,
      rateLimits,
      pauses,
      digestKey: Buffer.alloc(32, 7),
      resolve: (inject) => container.all(inject),
    })
  const drops: { topic: string; drop: (key: string) => Promise<void> | void }[] = []
  const invalidation: CacheInvalidation = {
    onChange: (topic, drop) => void drops.push({ topic, drop }),
    announce: () => {},
    assertLease: () => {},
  }
  const changed = async (topic: string, key: string) => {
    for (const drop of drops) if (drop.topic === topic) await drop.drop(key)
  }
  const makeLiveSockets = (): LiveSockets =>
    createLiveSockets({
      store,
      works,
      clock,
      ids,
      log,
      metrics: new Registry(),
      authenticator: keys,
      invalidation,
      channels: options.channels ?? [],
      keepMs: 3_600_000,
      keepMessages: options.keepMessages ?? 1_000,
      ownerOfEndpoint: async (id) =>
        id === endpoint && endpoints.active && options.endpointOrganization
          ? { organization: options.endpointOrganization, pipeline: "the-pipeline" }
          : undefined,
      endpointsTopic: "endpoints",
      anonymousPerAddress: options.anonymousPerAddress ?? 100,
      socketsPerKey: options.socketsPerKey ?? 500,
      corsOrigins,
      pauses,
      sessionCookie,
      addresses,
      rateLimiter,
      rateLimits: new RateLimits(rateLimiter, rateLimits),
      addressOf,
    })
  const live = makeLiveSockets()
  const metrics = new Registry()
  const documents = {
    "/openapi.json": {
      contentType: "application/json; charset=utf-8",
      text: () => JSON.stringify(openApi(operations, { serverUrl: "http://localhost" })),
    },
  }
  const invoker = makeInvoker()
  const mcp = createMcpHttp({ operations, invoker, log, corsOrigins, publicUrl: () => "http://localhost", addressOf, sessionCookie })
  const mounts = { "/mcp": { methods: mcpMethods, handle: mcp.handle } }
  const requestListener = createRest({
    operations,
    invoker,
    ids,
    log,
    metrics,
    corsOrigins,
    documents,
    mounts,
    addresses,
    addressOf,
    sessionCookie,
  })
  const connected = new Registry()
  const makeServer = (port: number) =>
    createHttpServer({
      host: "127.0.0.1",
      port,
      leaveMs: options.leaveMs ?? 0,
      drainMs: options.drainMs ?? 5_000,
      rest: requestListener,
      inbound: options.inbound,
      live: live.upgrade,
      store,
      metrics: new MetricsPage({ token: null, port: null, host: "127.0.0.1", production: false, ...options.metrics }, metrics),
      connections: new Connections({
        clock,
        log,
        metrics: port === 0 ? connected : new Registry(),
        ...(options.free ? { free: options.free } : {}),
      }),
      clock: options.serverClock ?? clock,
      ids,
      log,
    })
  const server = makeServer(0)
  const { url, port } = await server.start()
  await live.start()
  return {
    url,
    port,
    clock,
    ids,
    store,
    works,
    stage,
    keys,
    operations,
    logged,
    live,
    server,
    folder,
    metrics,
    connected,
    makeLiveSockets,
    makeServer,
    makeInvoker,
    log,
    endpoints,
    credentialChanged: (key: string) => changed(credentialsTopic, key),
    endpointChanged: (key: string) => changed("endpoints", key),
    async close() {
      await server.stop()
      await live.stop()
      await store.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export type SurfaceBench = Awaited<ReturnType<typeof openSurfaceBench>>

export async function call(
  bench: { url: string },
  method: string,
  path: string,
  options: { key?: string | null; body?: unknown; headers?: Record<string, string> } = {},
) {
  const headers: Record<string, string> = { ...options.headers }
  if (options.key !== null) headers["authorization"] = `Bearer ${options.key ?? "a-member"}`
  const init: RequestInit = { method, headers }
  if (options.body !== undefined) {
    headers["content-type"] ??= "application/json"
    init.body = typeof options.body === "string" ? options.body : JSON.stringify(options.body)
  }
  const response = await fetch(bench.url + path, init)
  const text = await response.text()
  const json = text.startsWith("{") ? (JSON.parse(text) as Record<string, never>) : {}
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: json as unknown as Record<string, unknown> & { details: Record<string, unknown> },
  }
}
