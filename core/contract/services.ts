// Services by their tokens, for code that learns at a call which ones it needs.
import { type Deps, type TokenRecord, token } from "../kernel/di.ts"

/** Services of this process, by their tokens. */
export interface Services {
  of<R extends TokenRecord>(inject: R | undefined): Deps<R>
}

/** Services of this process, by their tokens. */
export const Services = token<Services>("Services")
