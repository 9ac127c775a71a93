// What plugins do, and say, once the service can be reached.
import { token } from "../kernel/di.ts"

/** Where a plugin learns that the service listens, and at what address. */
export interface Listening {
  /** Calls back, with the address on this machine, when the service listens, in the order of asking; a text that is returned is printed to whoever started it. */
  onListening(run: (baseUrl: string) => Promise<string | undefined> | string | undefined): void
}

export const Listening = token<Listening>("Listening")
