// Services by their tokens. The caller needs no token before its first call.
import { type Deps, type TokenRecord, token } from "../kernel/di.ts"

/** Services of this process, by their tokens. */
export interface Services {
  of<R extends TokenRecord>(inject: R | undefined): Deps<R>
}

/** Services of this process, by their tokens. */
export const Services = token<Services>("Services")

/** Callbacks at the start of listening, with the address. */
export interface Listening {
  /**
   * Registers a callback. It runs with the local base URL once the server listens, in order of registration. A returned string is
   * printed.
   */
  onListening(run: (baseUrl: string) => Promise<string | undefined> | string | undefined): void
}

/** Callbacks of plugins once the service can be reached. */
export const Listening = token<Listening>("Listening")
