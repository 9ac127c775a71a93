// Where the service listens, and who wants to know.
import type { Listening } from "../contract/listening.ts"

export class ListeningHooks implements Listening {
  /** `http://HOST:PORT`; as configured until it is bound. */
  url: string
  /** What plugins had to say, once listening. */
  readonly greetings: string[] = []
  readonly #hooks: Parameters<Listening["onListening"]>[0][] = []

  constructor(url: string) {
    this.url = url
  }

  onListening(run: Parameters<Listening["onListening"]>[0]): void {
    this.#hooks.push(run)
  }

  async listens(url: string, publicUrl: () => string): Promise<void> {
    this.url = url
    for (const hook of this.#hooks) {
      const said = await hook(publicUrl())
      if (said) this.greetings.push(said)
    }
  }
}
