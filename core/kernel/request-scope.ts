// The scope of running code: a request, a job, or the service itself. An unhandled rejection fails only its own request.
// Changes of scope are marked, so the main-thread watch can name the operation that blocked the thread.
import { AsyncLocalStorage } from "node:async_hooks"

/** The operation and organization of work. Empty fields mean the service itself. */
export interface Marked {
  /** From a bounded list: a declared name, or a kind of entry point. */
  operation: string
  organization: string
}

interface Scope {
  readonly work: Marked
}

export interface RequestScope extends Scope {
  /** Answers 500, unless the request already has an answer. */
  fail(): void
}

const scopes = new AsyncLocalStorage<RequestScope | Scope | undefined>()
const service: Marked = { operation: "service", organization: "" }

// Names only: a scope references its request and thus the whole service.
let [current, since] = [service, 0]
let [longest, longestMs] = [service, 0]

/** Runs the function and all work it starts as part of the request. */
export function runInRequest<A extends unknown[], R>(scope: RequestScope | undefined, run: (...args: A) => R, ...args: A): R {
  mark(scope?.work)
  return scopes.run(scope, run, ...args)
}

/** Runs work of the service itself or of `work`, even if a request started it. */
export function runOutsideRequests<R>(run: () => R, work?: Marked): R {
  mark(work)
  return scopes.run(work && { work }, run)
}

/** Returns undefined outside of requests. */
export function currentRequest(): RequestScope | undefined {
  const scope = scopes.getStore()
  return scope && "fail" in scope ? scope : undefined
}

/** Names the current work. Omitted fields remain. */
export function nameWork({ operation, organization }: Partial<Marked>): void {
  const work = scopes.getStore()?.work
  if (!work) return
  if (operation !== undefined) work.operation = operation
  if (organization !== undefined) work.organization = organization
  mark(work)
}

/** Marks that this work continues after a wait, for the store for instance. */
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

/** Returns the work with the longest stretch since the last call. */
export function takeLongest(now: number): Marked {
  mark(undefined)
  const found = longest
  longest = service
  longestMs = 0
  since = now
  return found
}
