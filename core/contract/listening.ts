// What plugins do, and say, once the service can be reached.
import { token } from "../kernel/di.ts"

/** Where a plugin learns that the service listens, and at what address. */
export interface Listening {
  /** Registers a callback, run with the local base URL once the server is listening, in the order of registration; a returned string is printed. */
  onListening(run: (baseUrl: string) => Promise<string | undefined> | string | undefined): void
}

export const Listening = token<Listening>("Listening")
