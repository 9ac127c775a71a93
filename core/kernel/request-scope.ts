// The request in which code runs. A rejection without a handler fails this request alone.
import { AsyncLocalStorage } from "node:async_hooks"

export interface RequestScope {
  /** Answers 500, unless the request has its answer already. */
  fail(): void
}

const scopes = new AsyncLocalStorage<RequestScope | undefined>()

/** Runs the function, and everything that it starts, as a part of the request. */
export function runInRequest<A extends unknown[], R>(scope: RequestScope | undefined, run: (...args: A) => R, ...args: A): R {
  return scopes.run(scope, run, ...args)
}

/** Runs work of the service itself. It may have been started by a request. */
export function runOutsideRequests<R>(run: () => R): R {
  return scopes.run(undefined, run)
}

/** Returns undefined outside of requests. */
export function currentRequest(): RequestScope | undefined {
  return scopes.getStore()
}
