// The surfaces: REST with its documents, live updates, and the HTTP server. The server starts last and stops first.
import { LocalRateLimiter } from "../cluster/local-rate-limiter.ts"
import type { WorkerPlace } from "../cluster/worker.ts"
import { Authenticator, sessionCookieOf } from "../contract/caller.ts"
import { Channels, Live, ViewerTokens } from "../contract/channel.ts"
import { CacheInvalidation, ClockCorrections } from "../contract/cluster.ts"
import { Collections } from "../contract/collection.ts"
import { Gatekeeper } from "../contract/gate.ts"
import { JobQueue, Jobs } from "../contract/job.ts"
import { Metrics } from "../contract/metrics.ts"
import { Operations, OperationTools } from "../contract/operation.ts"
import { Pager } from "../contract/pagination.ts"
import { Pauses } from "../contract/pauses.ts"
import { RateLimiter } from "../contract/rate-limiter.ts"
import { TrashCollection, VersionCollection } from "../contract/resource-history.ts"
import { InboundHandler, PublicUrl, Routes } from "../contract/route.ts"
import { Listening, Services } from "../contract/services.ts"
import { Store } from "../contract/store.ts"
import { UnitsOfWork } from "../contract/unit-of-work.ts"
import { type AddressedRequest, clientAddressReader } from "../kernel/client-address.ts"
import { Clock } from "../kernel/clock.ts"
import { type CoreConfig, Settings } from "../kernel/config.ts"
import { Destinations } from "../kernel/destinations.ts"
import { type Container, token } from "../kernel/di.ts"
import { Ids } from "../kernel/ids.ts"
import { Log } from "../kernel/log.ts"
import type { Registry } from "../kernel/registry.ts"
import { Vault } from "../kernel/vault.ts"
import { PipelineSource, pipelineTopic } from "../pipeline/source.ts"
import { approvedCall } from "../surface/approved-call.ts"
import { AddressLimits } from "../surface/call/address-limits.ts"
import { AuditLog, PersonalAuditLog } from "../surface/call/audit.ts"
import { IdempotencyRecords, PersonalIdempotencyRecords } from "../surface/call/idempotency.ts"
import { RateLimits } from "../surface/call/rate-limit.ts"
import { docsPage } from "../surface/docs/page.ts"
import { Connections } from "../surface/http/connections.ts"
import { MetricsPage } from "../surface/http/metrics-page.ts"
import { publicRoutes } from "../surface/http/public-routes.ts"
import { createHttpServer, type HttpServer } from "../surface/http/server.ts"
import { createInvoker, Invoker } from "../surface/invoke.ts"
import { LiveMessages, LiveNodes, LiveOutboxes } from "../surface/live/messages.ts"
import { createLiveSockets, type LiveSockets, type LiveSocketsDeps } from "../surface/live.ts"
import { createMcpHttp, type McpHttp, mcpMethods } from "../surface/mcp/http.ts"
import { createOperationTools } from "../surface/mcp/tools.ts"
import { openApi } from "../surface/openapi.ts"
import { createPager } from "../surface/pager.ts"
import { createRest, type RequestListener } from "../surface/rest.ts"
import { createUnitsOfWork } from "../surface/units-of-work.ts"
import { isEmbedded } from "./embedded.ts"
import { Driver } from "./storage.ts"

const Rest = token<RequestListener>("Rest")
const Sockets = token<LiveSockets>("LiveSockets")
const Http = token<HttpServer>("HttpServer")
const Mcp = token<McpHttp>("McpHttp")
const Addresses = token<AddressLimits>("AddressLimits")
const AddressOf = token<(request: AddressedRequest) => string>("AddressOf")

export function provideCalls(
  container: Container,
  registry: Registry,
  listening: ListeningHooks,
  { worker, onBroadcast }: { readonly worker?: WorkerPlace } & Pick<LiveSocketsDeps, "onBroadcast">,
): void {
  for (const collection of [
    AuditLog,
    PersonalAuditLog,
    IdempotencyRecords,
    PersonalIdempotencyRecords,
    LiveMessages,
    LiveNodes,
    LiveOutboxes,
    TrashCollection,
    VersionCollection,
  ])
    registry.add(Collections, collection, "surface")
  registry.add(Jobs, approvedCall, "surface")
  container.value(Listening, listening)
  container.value(Services, { of: (inject) => container.all(inject) })
  container.provide(UnitsOfWork, { inject: { store: Store, ids: Ids, clock: Clock }, create: createUnitsOfWork })
  container.provide(Pager, { inject: { vault: Vault }, create: ({ vault }) => createPager({ key: vault.keyFor("cursors") }) })
  container.provide(PublicUrl, {
    inject: { config: Settings },
    create:
      ({ config }) =>
      () =>
        (config.server.public_url ?? listening.url).replace(/\/+$/, ""),
  })
  container.provide(AddressOf, { inject: { config: Settings }, create: ({ config }) => clientAddressReader(config.server.trust_proxy) })
  container.provide(RateLimiter, { inject: { clock: Clock }, create: ({ clock }) => new LocalRateLimiter(clock) })
  container.provide(Addresses, {
    inject: { rateLimiter: RateLimiter, config: Settings },
    create: ({ rateLimiter, config }) => new AddressLimits(rateLimiter, config.rate_limits.address_per_minute),
  })
  container.provide(Invoker, {
    inject: {
      authenticator: Authenticator,
      store: Store,
      clock: Clock,
      ids: Ids,
      config: Settings,
      vault: Vault,
      addresses: Addresses,
      rateLimiter: RateLimiter,
      pauses: Pauses,
    },
    create: ({ config, vault, ...deps }) =>
      createInvoker({
        ...deps,
        rateLimits: config.rate_limits,
        auditDays: config.retention.audit_days,
        digestKey: vault.keyFor("idempotency"),
        resolve: (inject) => container.all(inject),
        gating: () => ({ queue: container.get(JobQueue), keeper: container.has(Gatekeeper) ? container.get(Gatekeeper) : undefined }),
      }),
  })
  container.provide(OperationTools, {
    inject: { invoker: Invoker },
    create: ({ invoker }) => createOperationTools(() => registry.items(Operations), invoker),
  })
  container.provide(Sockets, {
    inject: {
      store: Store,
      works: UnitsOfWork,
      clock: Clock,
      ids: Ids,
      log: Log,
      metrics: Metrics,
      authenticator: Authenticator,
      invalidation: CacheInvalidation,
      config: Settings,
      addresses: Addresses,
      rateLimiter: RateLimiter,
      addressOf: AddressOf,
      storage: Driver,
      corrections: ClockCorrections,
      pauses: Pauses,
    },
    create: ({ config, storage, ...deps }) =>
      createLiveSockets({
        ...deps,
        rateLimits: new RateLimits(deps.rateLimiter, config.rate_limits),
        adapter: storage.liveAdapter,
        sessionCookie: cookieOf(config),
        worker,
        onBroadcast,
        channels: registry.items(Channels),
        keepMs: config.live.keep_ms,
        keepMessages: config.live.keep_messages,
        anonymousPerAddress: config.live.anonymous_per_address,
        socketsPerKey: config.live.sockets_per_key,
        corsOrigins: config.server.cors_origins,
        endpointsTopic: pipelineTopic,
        viewerTokens: () => (container.has(ViewerTokens) ? container.get(ViewerTokens) : undefined),
        ownerOfEndpoint: async (endpoint) => {
          // Resolved when a socket connects, because the provider of pipelines may itself inject Live.
          const pipeline = await container.get(PipelineSource).byEndpoint(endpoint)
          return pipeline?.document.state === "active" ? { organization: pipeline.organization.id, pipeline: pipeline.id } : undefined
        },
      }),
    start: (sockets) => sockets.start(),
    stop: (sockets) => sockets.stop(),
  })
  container.provide(Live, { inject: { sockets: Sockets }, create: ({ sockets }) => sockets.live })
}

function cookieOf({ server }: CoreConfig): string {
  return sessionCookieOf(server.public_url ?? "")
}

export interface ServerPlace {
  readonly worker: WorkerPlace | undefined
  readonly production: boolean
}

export function provideServer(
  container: Container,
  registry: Registry,
  listening: ListeningHooks,
  { worker, production }: ServerPlace,
): void {
  container.provide(Mcp, {
    inject: { invoker: Invoker, log: Log, config: Settings, publicUrl: PublicUrl, addressOf: AddressOf },
    create: ({ config, ...deps }) =>
      createMcpHttp({
        ...deps,
        operations: registry.items(Operations),
        corsOrigins: config.server.cors_origins,
        sessionCookie: cookieOf(config),
      }),
  })
  container.provide(Rest, {
    inject: {
      invoker: Invoker,
      ids: Ids,
      log: Log,
      metrics: Metrics,
      config: Settings,
      publicUrl: PublicUrl,
      addresses: Addresses,
      addressOf: AddressOf,
      mcp: Mcp,
      pauses: Pauses,
    },
    create: ({ config, publicUrl, mcp, ...deps }) => {
      const operations = registry.items(Operations)
      let made: Record<string, unknown> | undefined
      const openapi = () => (made ??= openApi(operations, { serverUrl: publicUrl(), routes: registry.items(Routes) }))
      let text: string | undefined
      const documents = {
        "/openapi.json": { contentType: "application/json; charset=utf-8", text: () => (text ??= JSON.stringify(openapi())) },
        "/docs": docsPage(openapi),
      }
      const mounts = { "/mcp": { methods: mcpMethods, handle: mcp.handle } }
      const open = publicRoutes({ ...deps, operations, routes: registry.items(Routes), resolve: (inject) => container.all(inject) })
      const { cors_origins: corsOrigins } = config.server
      return createRest({ ...deps, operations, corsOrigins, documents, mounts, publicRoutes: open, sessionCookie: cookieOf(config) })
    },
  })
  container.provide(Http, {
    inject: {
      rest: Rest,
      mcp: Mcp,
      inbound: InboundHandler,
      sockets: Sockets,
      store: Store,
      metrics: Metrics,
      clock: Clock,
      ids: Ids,
      log: Log,
      config: Settings,
      destinations: Destinations,
    },
    create: ({ config, sockets, mcp, metrics, destinations, ...deps }) =>
      createHttpServer({
        ...deps,
        pausedDestinations: () => destinations.states().filter(({ isPaused }) => isPaused).length,
        ...config.server,
        metrics: new MetricsPage({ ...config.metrics, production }, worker?.metricsOfAll(metrics) ?? metrics),
        connections: new Connections({ metrics, clock: deps.clock, log: deps.log }),
        // A single process owns the embedded file, so a balancer has no other node.
        leaveMs: isEmbedded(config) ? 0 : config.server.leave_ms,
        drainMs: config.server.drain_ms,
        live: sockets.upgrade,
        closeStreams: () => mcp.close(),
      }),
    start: async (server) => listening.listens((await server.start()).url),
    stop: (server) => server.stop(),
  })
}

/** The service's address, with the callbacks of plugins at the start of listening. */
export class ListeningHooks implements Listening {
  /** `http://HOST:PORT`. The configured address until the port is bound. */
  url: string
  /** Greetings of plugins, available once the service listens. */
  readonly greetings: string[] = []
  readonly #hooks: Parameters<Listening["onListening"]>[0][] = []

  constructor(url: string) {
    this.url = url
  }

  onListening(run: Parameters<Listening["onListening"]>[0]): void {
    this.#hooks.push(run)
  }

  async listens(url: string): Promise<void> {
    this.url = url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    for (const hook of this.#hooks) {
      const said = await hook(this.url)
      if (said) this.greetings.push(said)
    }
  }
}
