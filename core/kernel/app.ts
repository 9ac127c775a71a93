// Starts and stops the services of a process. Services start in creation order (each after its dependencies) and stop in reverse.
// A failed start stops the started services. After a stop during the start, the current service finishes starting and no other
// service starts.
import type { Container } from "./di.ts"
import type { Logger } from "./log.ts"

export class App {
  readonly #container: Container
  readonly #log: Logger
  #begun = 0
  #starting: Promise<void> = Promise.resolve()
  #stopping: Promise<void> | undefined

  constructor(container: Container, log: Logger) {
    this.#container = container
    this.#log = log
  }

  /** Throws the error of the first failing service, after stopping it and the earlier services. Resolves if stopped meanwhile. */
  async start(): Promise<void> {
    try {
      for (const service of this.#container.created) {
        if (this.#stopping) return
        this.#begun++
        this.#starting = service.start()
        await this.#starting
      }
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /** May be called before, during or after `start`, and more than once. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    // `start` reports its own failure.
    await this.#starting.catch(() => undefined)
    for (const service of this.#container.created.slice(0, this.#begun).reverse()) {
      try {
        await service.stop()
      } catch (error) {
        this.#log.error({ err: error, service: service.name }, "could not be stopped cleanly")
      }
    }
  }
}
