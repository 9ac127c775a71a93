// Services by their tokens. The caller needs no token before its first call.
import { type Deps, type TokenRecord, token } from "../kernel/di.ts"

/** Services of this process, by their tokens. */
export interface Services {
  of<R extends TokenRecord>(inject: R | undefined): Deps<R>
}

/** Services of this process, by their tokens. */
export const Services = token<Services>("Services")

/** Where a plugin learns that the service listens, and at what address. */
export interface Listening {
  /** Registers a callback, run with the local base URL once the server is listening, in the order of registration; a returned string is printed. */
  onListening(run: (baseUrl: string) => Promise<string | undefined> | string | undefined): void
}

/** What plugins do, and say, once the service can be reached. */
export const Listening = token<Listening>("Listening")
