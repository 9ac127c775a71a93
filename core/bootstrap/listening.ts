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

  async listens(url: string): Promise<void> {
    this.url = url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    for (const hook of this.#hooks) {
      const said = await hook(this.url)
      if (said) this.greetings.push(said)
    }
  }
}
