// The work in which code runs: a request, a job, or the service itself. A rejection without a handler fails its request
// alone. A change of work is marked, so that the watch of the main thread names the operation that kept it.
import { AsyncLocalStorage } from "node:async_hooks"

/** Whose work it is. Empty fields are those of the service itself. */
export interface Marked {
  /** One of a bounded list: a declared name, or a kind of entry point. */
  operation: string
  organization: string
}

interface Scope {
  readonly work: Marked
}

export interface RequestScope extends Scope {
  /** Answers 500, unless the request has its answer already. */
  fail(): void
}

const scopes = new AsyncLocalStorage<RequestScope | Scope | undefined>()
const service: Marked = { operation: "service", organization: "" }

// Names alone: a scope holds its request, and by it the whole service.
let [current, since] = [service, 0]
let [longest, longestMs] = [service, 0]

/** Runs the function, and everything that it starts, as a part of the request. */
export function runInRequest<A extends unknown[], R>(scope: RequestScope | undefined, run: (...args: A) => R, ...args: A): R {
  mark(scope?.work)
  return scopes.run(scope, run, ...args)
}

/** Runs work of the service itself, or of what is named. It may have been started by a request. */
export function runOutsideRequests<R>(run: () => R, work?: Marked): R {
  mark(work)
  return scopes.run(work && { work }, run)
}

/** Returns undefined outside of requests. */
export function currentRequest(): RequestScope | undefined {
  const scope = scopes.getStore()
  return scope && "fail" in scope ? scope : undefined
}

/** Names the work that runs now. A field that is not given stays. */
export function nameWork({ operation, organization }: Partial<Marked>): void {
  const work = scopes.getStore()?.work
  if (!work) return
  if (operation !== undefined) work.operation = operation
  if (organization !== undefined) work.organization = organization
  mark(work)
}

/** Marks that this work goes on after it waited, for the store for instance. */
export function workGoesOn(): void {
  mark(scopes.getStore()?.work)
}

function mark(work: Marked | undefined): void {
  const now = performance.now()
  if (now - since > longestMs) {
    longestMs = now - since
    longest = current
  }
  current = work ?? service
  since = now
}

/** The work with the longest piece since the last call. */
export function takeLongest(now: number): Marked {
  mark(undefined)
  const found = longest
  longest = service
  longestMs = 0
  since = now
  return found
}
