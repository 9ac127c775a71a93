// A house to try pipelines in: the real engine on a temporary folder, no server, no network, a clock that is moved. Each
// desk is an organization of its own, so that nothing of one try reaches another.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Caller } from "../contract/caller.ts"
import type { Json } from "../contract/collection.ts"
import { Operations } from "../contract/operation.ts"
import type { AnyPlugin } from "../contract/registrar.ts"
import type { CoreConfig } from "../kernel/config.ts"
import { BootError } from "../kernel/config.ts"
import { Ids } from "../kernel/ids.ts"
import { createLog, type Logger } from "../kernel/log.ts"
import { MovableClock } from "../kernel/movable-clock.ts"
import { Invoker } from "../surface/invoke.ts"
import { CapturedOutside } from "./captured-outside.ts"
import { buildHouse, type House } from "./house.ts"

export interface WorkbenchArgs {
  readonly config: CoreConfig
  /** What relative plugin folders are relative to. */
  readonly root: string
  readonly plugins?: readonly AnyPlugin[]
}

/** The organization that tried pipelines belong to, as their documents name it. */
export const triedOrganization = "default"

export class Workbench {
  readonly house: House
  readonly clock: MovableClock
  readonly outside: CapturedOutside
  /** What was logged so far, one JSON object a line. */
  readonly logged: string[]
  readonly #folder: string

  private constructor(made: Pick<Workbench, "house" | "clock" | "outside" | "logged">, folder: string) {
    this.house = made.house
    this.clock = made.clock
    this.outside = made.outside
    this.logged = made.logged
    this.#folder = folder
  }

  static async open({ config, root, plugins = [] }: WorkbenchArgs): Promise<Workbench> {
    const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"))
    const clock = new MovableClock()
    const outside = new CapturedOutside()
    const logged: string[] = []
    const log = createLog("warn", { write: (line) => void logged.push(line) })
    try {
      const house = await buildHouse({
        config: tried(config, folder),
        log,
        plugins,
        root,
        clock,
        capture: outside,
        serve: false,
        production: false,
      })
      await house.start()
      return new Workbench({ house, clock, outside, logged }, folder)
    } catch (error) {
      rmSync(folder, { recursive: true, force: true })
      throw error
    }
  }

  /** A caller who may do everything in an organization that nobody has used before. */
  newcomer(): Caller {
    const ids = this.house.container.get(Ids)
    return {
      organization: { id: ids.uuid(), slug: triedOrganization, name: "Tried" },
      role: "owner",
      scopes: undefined,
      credential: { id: ids.uuid(), kind: "internal", manager: false },
      user: undefined,
      surface: "internal",
      requestId: "tried",
      log: this.house.log as Logger,
    }
  }

  /** One call of an operation by its name; throws AppError as the operation does. */
  async invoke<T = Record<string, Json>>(caller: Caller, name: string, input: unknown): Promise<T> {
    const operation = this.house.registry.get(Operations, name)
    if (!operation) throw new BootError([`There is no operation "${name}": the plugin that has it is not loaded.`])
    const answer = await this.house.container.get(Invoker).perform(operation, input, caller)
    if (answer.kind === "stream") throw new Error(`${name} answers a stream.`)
    return answer.body as T
  }

  async stop(): Promise<void> {
    await this.house.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** As configured, but for what would reach outside the folder, or refuse events for being many. */
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
    // Time is moved on for retries; what was told before must still be there to be looked at.
    live: { ...config.live, keep_ms: 1_000_000_000_000 },
  }
}
