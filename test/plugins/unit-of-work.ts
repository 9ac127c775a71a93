// A service without its HTTP server, for tests of plugins: real storage in a temporary folder, the real call path, plugins
// registered like the loader does, and a movable clock.
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { LocalRateLimiter } from "../../core/cluster/local-rate-limiter.ts"
import { createLocalInvalidation } from "../../core/cluster/topics.ts"
import { Authenticator } from "../../core/contract/caller.ts"
import { Live } from "../../core/contract/channel.ts"
import { CacheInvalidation } from "../../core/contract/cluster.ts"
import { type CollectionSpec, Collections, type Json } from "../../core/contract/collection.ts"
import { JobQueue } from "../../core/contract/job.ts"
import { type AnyOperation, Operations } from "../../core/contract/operation.ts"
import { Outgoing } from "../../core/contract/outgoing.ts"
import { Pager } from "../../core/contract/pagination.ts"
import { createPauses, Pauses } from "../../core/contract/pauses.ts"
import { RateLimiter } from "../../core/contract/rate-limiter.ts"
import { type AnyPlugin, Declarations, registerPlugin } from "../../core/contract/registrar.ts"
import { TrashCollection, VersionCollection } from "../../core/contract/resource-history.ts"
import { PublicUrl } from "../../core/contract/route.ts"
import { Listening } from "../../core/contract/services.ts"
import { Store } from "../../core/contract/store.ts"
import { type UnitOfWork, UnitsOfWork } from "../../core/contract/unit-of-work.ts"
import { App } from "../../core/kernel/app.ts"
import { Clock, systemClock } from "../../core/kernel/clock.ts"
import { type CoreConfig, loadConfig, Settings } from "../../core/kernel/config.ts"
import { Container, type Key, type Token } from "../../core/kernel/di.ts"
import { Ids, timeOrderedIds } from "../../core/kernel/ids.ts"
import { createLog, Log } from "../../core/kernel/log.ts"
import { Registry } from "../../core/kernel/registry.ts"
import { createVault, Vault } from "../../core/kernel/vault.ts"
import { createSqliteDriver } from "../../core/storage/sqlite/driver.ts"
import { createStore } from "../../core/storage/store.ts"
import { AuditLog } from "../../core/surface/call/audit.ts"
import { IdempotencyRecords } from "../../core/surface/call/idempotency.ts"
import { createInvoker } from "../../core/surface/invoke.ts"
import { createPager } from "../../core/surface/pager.ts"
import { createUnitsOfWork } from "../../core/surface/units-of-work.ts"
import { Mailer } from "../../plugins/people/email/index.ts"

const noReceipt = { message_id: null, accepted: [], rejected: [], suppressed: [] }

export interface CallOptions {
  /** Bearer credential. Default: the credential of `as`. */
  readonly key?: string | undefined
  /** X-Organization-ID. */
  readonly organization?: string
}

export class ServiceUnderTest {
  readonly folder: string
  readonly container = new Container()
  readonly logged: string[] = []
  readonly #registry = new Registry()
  readonly #plugins: readonly AnyPlugin[]
  readonly #masterKey: Buffer
  #app: App | undefined
  get runtime() {
    return { registry: this.#registry }
  }

  /** Milliseconds by which the service's clocks are ahead of the real ones. */
  ahead = 0
  key: string | undefined

  /** `before`: an earlier service, whose folder and storage this service continues to use. */
  constructor(plugins: readonly AnyPlugin[], before?: ServiceUnderTest) {
    this.#plugins = plugins
    this.folder = before?.folder ?? mkdtempSync(join(tmpdir(), "millrace-plugins-"))
    this.#masterKey = before ? before.#masterKey : randomBytes(32)
  }

  async start(change: (config: CoreConfig) => Partial<CoreConfig> = () => ({})): Promise<this> {
    const { container, folder } = this
    const defaults = new URL("../../config/default.yaml", import.meta.url).pathname
    const { config } = loadConfig({ defaults, env: {} })
    const settings = { ...config, data_dir: folder, ...change(config) }
    const log = createLog("info", { write: (line: string) => this.logged.push(line) })
    const clock: Clock = {
      now: () => systemClock.now() + this.ahead,
      monotonic: () => systemClock.monotonic() + this.ahead,
      after: systemClock.after,
    }
    const driver = createSqliteDriver({ file: join(folder, "millrace.db"), clock })
    const store = createStore({ driver, collections: declaredBy(this.#registry), clock })
    const vault = createVault(this.#masterKey)
    container.value(Settings, settings)
    container.value(Log, log)
    container.value(Clock, clock)
    container.value(Vault, vault)
    container.value(Pauses, createPauses())
    container.value(Outgoing, { capture: undefined })
    container.value(Declarations, this.#registry)
    // Without an HTTP server, it never listens.
    container.value(Listening, { onListening: () => undefined })
    container.value(PublicUrl, () => "http://127.0.0.1:4000")
    container.value(Live, { stage: (_work, _organization, _message, id = "") => id, emit: () => undefined, hasSubscribers: () => false })
    // Discards jobs and mail.
    container.value(JobQueue, {
      enqueue: (_work, _job, _payload, { id = "" } = {}) => id,
      revive: () => undefined,
      discard: () => undefined,
      hasten: () => undefined,
    })
    container.value(Mailer, { writesOutbox: false, send: async () => noReceipt, close: async () => undefined })
    container.provide(RateLimiter, { create: () => new LocalRateLimiter(clock) })
    container.provide(Ids, { create: () => timeOrderedIds(clock) })
    container.provide(Store, { create: () => store, start: () => store.start(), stop: () => store.stop() })
    container.provide(CacheInvalidation, { create: () => createLocalInvalidation({ log }) })
    container.provide(UnitsOfWork, { inject: { store: Store, ids: Ids, clock: Clock }, create: createUnitsOfWork })
    container.provide(Pager, { create: () => createPager({ key: vault.keyFor("cursors") }) })
    const ran: Token<unknown>[] = []
    for (const plugin of this.#plugins) {
      ran.push(...registerPlugin(plugin, plugin.config.parse({}), container, this.#registry))
    }
    container.get(Store)
    for (const operation of this.#registry.items(Operations)) container.all(operation.inject)
    for (const token of ran) container.get(token)
    if (container.has(Authenticator)) container.get(Authenticator)
    this.#app = new App(container, log)
    await this.#app.start()
    return this
  }

  get<T>(key: Key<T>): T {
    return this.container.get(key)
  }

  /** Commits the writes staged by `stage`. */
  work<T>(stage: (work: UnitOfWork) => Promise<T> | T): Promise<T> {
    return this.get(UnitsOfWork).run(stage)
  }

  /** Calls an operation by name, as the surfaces do. */
  async call<T = Record<string, Json>>(name: string, input: unknown = {}, options: CallOptions = {}): Promise<T> {
    const operation = this.#registry.get(Operations, name) as AnyOperation | undefined
    if (!operation) throw new Error(`The operation "${name}" does not exist.`)
    const invoker = createInvoker({
      authenticator: this.get(Authenticator),
      store: this.get(Store),
      clock: this.get(Clock),
      ids: this.get(Ids),
      rateLimiter: new LocalRateLimiter(this.get(Clock)),
      rateLimits: { key_per_minute: 1_000_000, organization_per_minute: 1_000_000 },
      pauses: this.get(Pauses),
      digestKey: this.get(Vault).keyFor("idempotency"),
      resolve: (inject) => this.container.all(inject),
    })
    const bearer = "key" in options ? options.key : this.key
    const credentials = { bearer, organization: options.organization, surface: "rest", requestId: "test", log: this.get(Log) } as const
    const answer = await invoker.invoke(operation, input, credentials)
    return (answer.kind === "json" ? answer.body : answer.stream) as T
  }

  /** Stops the service but leaves the folder for another start. */
  async stop(): Promise<void> {
    await this.#app?.stop()
  }

  async remove(): Promise<void> {
    await this.stop()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Read when storage starts, after the registration of plugins. */
function declaredBy(registry: Registry): Iterable<CollectionSpec> {
  return {
    *[Symbol.iterator]() {
      yield AuditLog
      yield IdempotencyRecords
      yield* registry.items(Collections)
      yield* [VersionCollection, TrashCollection]
    },
  }
}
