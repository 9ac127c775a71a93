// Services by their tokens. The caller needs no token before its first call.
import { type Deps, type TokenRecord, token } from "../kernel/di.ts"

/** Services of this process, by their tokens. */
export interface Services {
  of<R extends TokenRecord>(inject: R | undefined): Deps<R>
}

/** Services of this process, by their tokens. */
export const Services = token<Services>("Services")
