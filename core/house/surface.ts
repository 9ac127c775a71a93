// The surfaces: REST with its documents, live updates, and the HTTP server that starts last and stops first.

import { Authenticator } from "../contract/caller.ts"
import { Channels, Live } from "../contract/channel.ts"
import { Coherence } from "../contract/coherence.ts"
import { Collections } from "../contract/collection.ts"
import { InboundHandler, PublicUrl } from "../contract/inbound.ts"
import { Listening } from "../contract/listening.ts"
import { Metrics } from "../contract/metrics.ts"
import { Operations } from "../contract/operation.ts"
import { Pager } from "../contract/page.ts"
import { Store } from "../contract/store.ts"
import { Works } from "../contract/work.ts"
import { Clock } from "../kernel/clock.ts"
import { Settings } from "../kernel/config.ts"
import { type Container, token } from "../kernel/di.ts"
import { Ids } from "../kernel/ids.ts"
import { Log } from "../kernel/log.ts"
import type { Registry } from "../kernel/registry.ts"
import { Vault } from "../kernel/vault.ts"
import { PipelineSource } from "../pipeline/source.ts"
import { AuditLog } from "../surface/call/audit.ts"
import { IdempotencyRecords } from "../surface/call/idempotency.ts"
import { createHttpServer, type HttpServer } from "../surface/http/server.ts"
import { createInvoker, Invoker } from "../surface/invoke.ts"
import { LiveMessages, LiveNodes, LiveOutboxes } from "../surface/live/messages.ts"
import { createLiveRoom, type LiveRoom } from "../surface/live.ts"
import { openApi } from "../surface/openapi.ts"
import { createPager } from "../surface/pager.ts"
import { createRest, type RequestListener } from "../surface/rest.ts"
import { createWorks } from "../surface/works.ts"
import type { ListeningHooks } from "./listening.ts"

const Rest = token<RequestListener>("Rest")
const Room = token<LiveRoom>("LiveRoom")
const Http = token<HttpServer>("HttpServer")

export function provideCalls(container: Container, registry: Registry, listening: ListeningHooks): void {
  for (const collection of [AuditLog, IdempotencyRecords, LiveMessages, LiveNodes, LiveOutboxes])
    registry.add(Collections, collection, "surface")
  container.value(Listening, listening)
  container.provide(Works, { inject: { store: Store, ids: Ids }, create: createWorks })
  container.provide(Pager, { inject: { vault: Vault }, create: ({ vault }) => createPager({ key: vault.keyFor("cursors") }) })
  container.provide(PublicUrl, {
    inject: { config: Settings },
    create:
      ({ config }) =>
      () =>
        (config.server.public_url ?? listening.url).replace(/\/+$/, ""),
  })
  container.provide(Invoker, {
    inject: { authenticator: Authenticator, store: Store, clock: Clock, ids: Ids, config: Settings, vault: Vault },
    create: ({ config, vault, ...deps }) =>
      createInvoker({
        ...deps,
        rateLimits: config.rate_limits,
        digestKey: vault.keyFor("idempotency"),
        resolve: (inject) => container.all(inject),
      }),
  })
  container.provide(Room, {
    inject: {
      store: Store,
      works: Works,
      clock: Clock,
      ids: Ids,
      log: Log,
      metrics: Metrics,
      authenticator: Authenticator,
      coherence: Coherence,
      config: Settings,
      source: PipelineSource,
    },
    create: ({ config, source, ...deps }) =>
      createLiveRoom({
        ...deps,
        channels: registry.items(Channels),
        keepMs: config.live.keep_ms,
        keepMessages: config.live.keep_messages,
        organizationOfEndpoint: async (endpoint) => (await source.byEndpoint(endpoint))?.organization.id,
      }),
    start: (room) => room.start(),
    stop: (room) => room.stop(),
  })
  container.provide(Live, { inject: { room: Room }, create: ({ room }) => room.live })
}

export function provideServer(container: Container, registry: Registry, listening: ListeningHooks): void {
  container.provide(Rest, {
    inject: { invoker: Invoker, ids: Ids, log: Log, metrics: Metrics, config: Settings, publicUrl: PublicUrl },
    create: ({ config, publicUrl, ...deps }) => {
      const operations = registry.items(Operations)
      const documents = { "/openapi.json": () => openApi(operations, { serverUrl: publicUrl() }) }
      return createRest({ ...deps, operations, corsOrigins: config.server.cors_origins, documents })
    },
  })
  container.provide(Http, {
    inject: { rest: Rest, inbound: InboundHandler, room: Room, store: Store, metrics: Metrics, clock: Clock, log: Log, config: Settings },
    create: ({ config, room, ...deps }) =>
      createHttpServer({ ...deps, ...config.server, drainMs: config.server.drain_ms, live: room.door }),
    start: async (server) => listening.listens((await server.start()).url),
    stop: (server) => server.stop(),
  })
}
