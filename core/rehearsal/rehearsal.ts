// A temporary service for trying pipelines: the real engine on a temporary folder, with a manual clock, without server and
// network. Each harness has its own organization, so tries are independent.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Runtime } from "../bootstrap/runtime.ts"
import type { Caller } from "../contract/caller.ts"
import type { Json } from "../contract/collection.ts"
import { type AnyOperation, Operations } from "../contract/operation.ts"
import type { AnyPlugin } from "../contract/registrar.ts"
import { type RehearsalContext, RehearsalFixturePoint, type RehearsalFixtures } from "../contract/rehearsal.ts"
import { Store } from "../contract/store.ts"
import { Clock } from "../kernel/clock.ts"
import { BootError, type CoreConfig } from "../kernel/config.ts"
import { Ids } from "../kernel/ids.ts"
import { createLog, type Logger } from "../kernel/log.ts"
import { MovableClock } from "../kernel/movable-clock.ts"
import { sharedSandbox } from "../pipeline/sandbox/shared-sandbox.ts"
import { Invoker } from "../surface/invoke.ts"
import type { LiveMessageDocument } from "../surface/live/messages.ts"
import { CapturedOutgoing } from "./captured-outgoing.ts"

export interface RehearsalArgs {
  readonly config: CoreConfig
  /** Base of relative plugin folders. */
  readonly root: string
  readonly plugins?: readonly AnyPlugin[]
  /** Lowest recorded log level; default: `warn`. */
  readonly logLevel?: string
}

/** The organization of documents without an organization. */
const defaultOrganization = "default"

export class Rehearsal {
  readonly runtime: Runtime
  readonly clock: MovableClock
  readonly outgoing: CapturedOutgoing
  readonly broadcasts: CapturedBroadcasts
  /** Recorded log lines, one JSON object each. */
  readonly logged: string[]
  readonly #folder: string

  private constructor(made: Pick<Rehearsal, "runtime" | "clock" | "outgoing" | "broadcasts" | "logged">, folder: string) {
    this.runtime = made.runtime
    this.clock = made.clock
    this.outgoing = made.outgoing
    this.broadcasts = made.broadcasts
    this.logged = made.logged
    this.#folder = folder
  }

  static async open({ config, root, plugins = [], logLevel = "warn" }: RehearsalArgs): Promise<Rehearsal> {
    const folder = mkdtempSync(join(tmpdir(), "millrace-rehearsal-"))
    const clock = new MovableClock()
    const outgoing = new CapturedOutgoing()
    const broadcasts = new CapturedBroadcasts()
    const logged: string[] = []
    const log = createLog(logLevel, { write: (line) => void logged.push(line) })
    const sandbox = sharedSandbox(config.sandbox)
    try {
      // Imported here, because commands for reading documents also load this file.
      const { buildRuntime } = await import("../bootstrap/runtime.ts")
      const runtime = await buildRuntime({
        config: tried(config, folder),
        log,
        plugins,
        root,
        clock,
        capture: outgoing,
        onBroadcast: broadcasts.hear,
        serve: false,
        sandbox,
        warmSandbox: false,
        production: false,
      })
      await runtime.start()
      return new Rehearsal({ runtime, clock, outgoing, broadcasts, logged }, folder)
    } catch (error) {
      await sandbox.stop()
      rmSync(folder, { recursive: true, force: true })
      throw error
    }
  }

  /**
   * Creates a new organization with open gates. Returns a caller with its owner's rights. Replaces an earlier organization with
   * the slug.
   */
  async createOrganization(slug = defaultOrganization): Promise<Caller> {
    const ids = this.runtime.container.get(Ids)
    const caller: Caller = {
      organization: { id: ids.uuid(), slug, name: "Rehearsal" },
      role: "owner",
      scopes: undefined,
      // A service, like a key of a deployment. A rehearsal tries actions permitted for persons and files.
      credential: { id: ids.uuid(), kind: "api_key", manager: false },
      user: undefined,
      surface: "internal",
      requestId: "rehearsal",
      log: this.runtime.log as Logger,
    }
    await this.fixture(caller, "organization")
    if (this.runtime.registry.get(RehearsalFixturePoint, "open_gates")) await this.fixture(caller, "open_gates")
    return caller
  }

  /** Calls a fixture of a plugin. Throws BootError if no plugin provides the fixture. */
  async fixture<K extends keyof RehearsalFixtures>(
    caller: Caller,
    name: K,
    ...given: Parameters<RehearsalFixtures[K]> extends [RehearsalContext, ...infer G] ? G : never
  ): Promise<Awaited<ReturnType<RehearsalFixtures[K]>>> {
    const { container, registry } = this.runtime
    const offered = registry.get(RehearsalFixturePoint, name)
    if (!offered) throw new BootError([`No loaded plugin provides the rehearsal fixture "${name}".`])
    const context: RehearsalContext = {
      caller,
      store: container.get(Store),
      now: container.get(Clock).now(),
      call: async (operation, input) => (await this.#perform(caller, operation, input)) as never,
    }
    const run = offered.run as (context: RehearsalContext, ...given: unknown[]) => ReturnType<RehearsalFixtures[K]>
    return await run(context, ...given)
  }

  /** Calls an operation by name. Throws AppError like the operation. */
  async invoke<T = Record<string, Json>>(caller: Caller, name: string, input: unknown): Promise<T> {
    const operation = this.runtime.registry.get(Operations, name)
    if (!operation) throw new BootError([`The operation "${name}" does not exist: its plugin is not loaded.`])
    return (await this.#perform(caller, operation, input)) as T
  }

  async #perform(caller: Caller, operation: AnyOperation, input: unknown): Promise<unknown> {
    const answer = await this.runtime.container.get(Invoker).perform(operation, input, caller)
    if (answer.kind === "stream") throw new Error(`${operation.name} answers a stream.`)
    return answer.body
  }

  async stop(): Promise<void> {
    await this.runtime.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** Returns the configuration without effects outside the folder and without limits on event counts. */
function tried(config: CoreConfig, folder: string): CoreConfig {
  return {
    ...config,
    data_dir: folder,
    master_key: null,
    bootstrap_key: null,
    storage: { url: null },
    pipelines: { ...config.pipelines, paths: [] },
    server: { ...config.server, public_url: "https://millrace.test" },
    inbound: { ...config.inbound, rejected_entries_per_minute: 1_000_000 },
    jobs: { ...config.jobs, poll_ms: 20 },
    // The clock moves far ahead for retries. Earlier messages must remain readable.
    live: { ...config.live, keep_ms: 1_000_000_000_000 },
  }
}

/** Captures live messages instead of subscribers: each new committed message, independent of its expiry in the store. */
export class CapturedBroadcasts {
  readonly #heard: { readonly organization: string; readonly message: LiveMessageDocument }[] = []

  readonly hear = (organization: string, message: LiveMessageDocument): void => {
    this.#heard.push({ organization, message })
  }

  /** Messages of one organization in the order of their ids, including copies for anonymous viewers. */
  of(organization: string): LiveMessageDocument[] {
    return this.#heard
      .filter((one) => one.organization === organization)
      .map(({ message }) => message)
      .sort((one, other) => (one.id < other.id ? -1 : 1))
  }
}
