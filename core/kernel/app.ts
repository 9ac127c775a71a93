// The life of the process: services start in the order in which they were created (each after what it injects) and stop
// backwards, each with the time that is left. A start that fails stops what had started.
import type { Container } from "./di.ts"
import type { Logger } from "./log.ts"

export class App {
  readonly #container: Container
  readonly #log: Logger
  #started = 0
  #stopping: Promise<void> | undefined

  constructor(container: Container, log: Logger) {
    this.#container = container
    this.#log = log
  }

  /** Throws what the first failing service threw, after stopping the ones before it. */
  async start(): Promise<void> {
    const services = this.#container.created
    try {
      for (; this.#started < services.length; this.#started++) await services[this.#started]?.start()
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
    for (const service of this.#container.created.slice(0, this.#started + 1).reverse()) {
      try {
        await service.stop()
      } catch (error) {
        this.#log.error({ err: error, service: service.name }, "could not be stopped cleanly")
      }
    }
  }
}
