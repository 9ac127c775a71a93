// The life of the process: services start in the order in which they were created (each after what it injects) and stop
// backwards. A start that fails stops what had started; a stop that comes during the start lets the one that is starting
// finish, and no further one begins.
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

  /** Throws what the first failing service threw, after stopping it and the ones before it. Resolves when stopped meanwhile. */
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
    // Whether it failed is for `start` to tell.
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
