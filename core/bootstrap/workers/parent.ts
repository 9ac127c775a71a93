// The parent of several workers. It serves no HTTP: it owns the embedded file, where there is one, keeps what the workers
// share (counts of limits, who listens to what), and starts a worker again that dies.
import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { nodes } from "../../cluster/collections.ts"
import { LocalTally } from "../../cluster/tally/local-tally.ts"
import { serveTally } from "../../cluster/tally/shared-tally.ts"
import { Crew } from "../../cluster/workers/crew.ts"
import { type Hello, Hub } from "../../cluster/workers/hub.ts"
import { RelayService } from "../../cluster/workers/linked-relay.ts"
import { Orphans, portIsOurs } from "../../cluster/workers/orphans.ts"
import { type Places, placesIn } from "../../cluster/workers/places.ts"
import type { SocketLink } from "../../cluster/workers/socket-link.ts"
import type { Link } from "../../contract/link.ts"
import { systemClock } from "../../kernel/clock.ts"
import type { CoreConfig } from "../../kernel/config.ts"
import { timeOrderedIds } from "../../kernel/ids.ts"
import type { Logger } from "../../kernel/log.ts"
import { FileOwner } from "../../storage/sqlite/owner.ts"
import { WriterService } from "../../storage/sqlite/writer-service.ts"
import { listenError } from "../../surface/http/listen-error.ts"
import { dataFile, isEmbedded } from "../embedded.ts"
import { MetricsService } from "./metrics.ts"

/** What a worker is told when it says hello. */
export interface Welcome {
  readonly config: CoreConfig
  readonly workers: number
}

/** A worker gives requests and then jobs the drain time; then it needs a moment to close. */
const closingMs = 5_000

export class Parent {
  readonly listening: { greetings: readonly string[] } = { greetings: [] }
  readonly log: Logger
  #config: CoreConfig
  readonly #clock = systemClock
  readonly #places: Places
  readonly #orphans = new Orphans()
  readonly #owner: FileOwner | undefined
  readonly #writer: WriterService | undefined
  readonly #registered = new Map<Link, string>()
  readonly #tally = new LocalTally(systemClock)
  readonly #relay = new RelayService()
  readonly #metrics: MetricsService
  readonly #hub: Hub
  readonly #crew: Crew
  #stopping: Promise<void> | undefined

  /** Throws where the data folder cannot hold what workers need. */
  constructor({ config, log }: { config: CoreConfig; log: Logger }) {
    this.#config = config
    this.log = log
    mkdirSync(config.data_dir, { recursive: true })
    this.#places = placesIn(config.data_dir)
    if (isEmbedded(config)) {
      const onWriterDeath = (error: Error) => log.error({ err: error }, "the writing thread died; another is started")
      this.#owner = new FileOwner({ file: dataFile(config), clock: this.#clock, expireEveryMs: 1_000, onWriterDeath })
      this.#writer = new WriterService(this.#owner, (from, { collection, id, inserted }) => {
        if (collection === nodes.name && inserted) this.#registered.set(from, id)
      })
    }
    this.#hub = new Hub(this.#places, (hello, link) => this.#welcome(hello, link))
    this.#crew = new Crew({
      workers: config.workers,
      launch: (slot) => this.#launch(slot),
      clock: this.#clock,
      log,
      stopWithinMs: 2 * config.server.drain_ms + closingMs,
      onDeath: (link) => this.#lost(link),
    })
    this.#metrics = new MetricsService({ clock: this.#clock, listening: () => this.#crew.listening })
  }

  /** Resolves when all workers listen, or when stopped meanwhile. Throws why they cannot. */
  async start(): Promise<void> {
    try {
      this.#owner?.lock()
      const left = await this.#hub.listen()
      const { server } = this.#config
      await portIsOurs(server, this.#orphans, left, this.#clock).catch((cause: NodeJS.ErrnoException) => {
        throw listenError(server, cause)
      })
      const { greetings, url } = await this.#crew.start()
      this.listening.greetings = greetings
      this.log.info({ url, workers: this.#config.workers }, "workers listen")
      await this.#orphans.dismiss(this.#clock)
    } catch (error) {
      const stopped = this.#stopping !== undefined
      await this.stop()
      if (!stopped) throw error
    }
  }

  /** The workers first: what they have in hand is still to be kept. */
  stop(): Promise<void> {
    this.#stopping ??= (async () => {
      await this.#crew.stop()
      this.#hub.close()
      await this.#owner?.stop()
    })()
    return this.#stopping
  }

  /** At once, workers and all. */
  kill(): void {
    this.#crew.kill()
  }

  #launch(slot: number): ChildProcess {
    const program = fileURLToPath(new URL("./worker-main.ts", import.meta.url))
    return spawn(process.execPath, [...process.execArgv, program, this.#places.parent, String(slot)], { stdio: "inherit" })
  }

  #welcome(hello: Hello, link: SocketLink): Welcome | undefined {
    if (hello.slot === undefined) {
      this.#orphans.add(link, hello.port)
      return undefined
    }
    this.#crew.arrived(hello, link, ({ url }) => this.#listensAt(url))
    this.#writer?.serve(link)
    serveTally(link, this.#tally)
    this.#relay.serve(link)
    this.#metrics.serve(link)
    return { config: this.#config, workers: this.#config.workers }
  }

  /** The first worker may have been given any port; the others take the same. */
  #listensAt(url: string): void {
    const { server } = this.#config
    if (server.port === 0) this.#config = { ...this.#config, server: { ...server, port: Number(new URL(url).port) } }
  }

  /** Nobody has to wait for the lease of a node that is known to be dead. */
  #lost(link: Link | undefined): void {
    this.#metrics.restarted()
    const id = link && this.#registered.get(link)
    if (!link || id === undefined) return
    this.#registered.delete(link)
    const writes = [{ kind: "remove", collection: nodes, id, optional: true } as const]
    this.#writer?.commit({ id: timeOrderedIds(this.#clock).uuid(), writes }).catch((error: unknown) => {
      this.log.warn({ err: error }, "the registration of a dead worker could not be removed; the others wait for its lease")
    })
  }
}
