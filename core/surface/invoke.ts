// The one call path. REST, MCP, the CLI and sockets all come through here: authenticate, rate limit, authorise, parse,
// idempotency, handle, check the output, commit, answer. Nothing here knows HTTP.
import type { Authenticator, Caller, Credentials } from "../contract/caller.ts"
import type { Json } from "../contract/collection.ts"
import type { AnyOperation, Streamed } from "../contract/operation.ts"
import type { Store } from "../contract/store.ts"
import { StagedWork } from "../contract/work.ts"
import { type Clock, timestamp } from "../kernel/clock.ts"
import { type Deps, type TokenRecord, token } from "../kernel/di.ts"
import { AppError, asAppError } from "../kernel/errors.ts"
import type { Ids } from "../kernel/ids.ts"
import { audit } from "./call/audit.ts"
import { authorise } from "./call/authorise.ts"
import { type Claim, Idempotency, type KeptAnswer } from "./call/idempotency.ts"
import { parseInput } from "./call/parse-input.ts"
import { type Quota, RateLimits } from "./call/rate-limit.ts"

export interface InvokeOptions {
  /** Honoured on POST operations that change something. */
  readonly idempotencyKey?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Told what is left of the caller's quotas as soon as it is known, also when the call is then refused. */
  readonly quotas?: (quotas: readonly Quota[]) => void
}

export type Answer =
  | { readonly kind: "json"; readonly status: number; readonly body: Json; readonly repeated: boolean }
  | { readonly kind: "stream"; readonly status: number; readonly stream: Streamed }

export interface Invoker {
  /** Throws AppError, always; causes that callers must not see are in the log by then. */
  invoke(operation: AnyOperation, input: unknown, credentials: Credentials, options?: InvokeOptions): Promise<Answer>
}

export const Invoker = token<Invoker>("Invoker")

export interface InvokerDeps {
  readonly authenticator: Authenticator
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly rateLimits: { readonly key_per_minute: number; readonly organization_per_minute: number }
  /** `Vault.keyFor("idempotency")`. */
  readonly digestKey: Buffer
  /** What an operation injects; the container's `all`. */
  readonly resolve: (inject: TokenRecord | undefined) => Deps<TokenRecord>
}

interface Call {
  readonly operation: AnyOperation
  readonly caller: Caller
  readonly input: unknown
  readonly claim: Claim | undefined
  readonly signal: AbortSignal
}

/** Failures that a repeat may meet because its first call has just gone through. */
const collisions = new Set(["already_exists", "aborted", "failed_precondition"])

export function createInvoker(deps: InvokerDeps): Invoker {
  const limits = new RateLimits(deps.clock, deps.rateLimits)
  const idempotency = new Idempotency(deps)
  const never = new AbortController().signal

  async function run(operation: AnyOperation, given: unknown, credentials: Credentials, options: InvokeOptions): Promise<Answer> {
    const caller = await deps.authenticator.authenticate(credentials)
    const { quotas, refusal } = limits.take(caller)
    options.quotas?.(quotas)
    if (refusal) throw refusal
    authorise(operation.access, caller, operation.name)
    const raw = cleared(operation, given, credentials)
    const input: unknown = await parseInput(operation.input, raw)
    const key = operation.http.method === "POST" && !operation.hints.readOnly ? options.idempotencyKey : undefined
    const call = { operation, caller, input, signal: options.signal ?? never }
    if (key === undefined) return await handle({ ...call, claim: undefined })
    return await once(call, idempotency.claim(operation, caller, key, raw))
  }

  /** Handles a call with an idempotency key, or gives the answer of the one that was first. */
  async function once(call: Omit<Call, "claim">, claim: Claim): Promise<Answer> {
    try {
      const first = await claim.first()
      if (first) return repeated(first)
      if (call.operation.hints.openWorld) await claim.reserve()
      return await handle({ ...call, claim })
    } catch (error) {
      const winner = error instanceof AppError && collisions.has(error.code) ? await claim.first() : undefined
      if (winner) return repeated(winner)
      throw error
    } finally {
      await claim.release().catch((err: unknown) => call.caller.log.warn({ err }, "an idempotency reservation stays until it expires"))
    }
  }

  async function handle(call: Call): Promise<Answer> {
    const { operation, caller, input, signal } = call
    const work = new StagedWork(deps.ids.uuid())
    const result: unknown = await operation.handle({ input, caller, deps: deps.resolve(operation.inject), work, signal })
    const status = operation.http.status ?? 200
    if (operation.streams) {
      await commit(work, call, undefined)
      return { kind: "stream", status, stream: result as Streamed }
    }
    const body = await checkedOutput(operation, result)
    await commit(work, call, { status, body })
    return { kind: "json", status, body, repeated: false }
  }

  async function commit(work: StagedWork, call: Call, answer: KeptAnswer | undefined): Promise<void> {
    const { operation, caller, input, claim } = call
    if (operation.hints.readOnly) {
      if (work.writes.length > 0) throw new Error(`${operation.name} says it only reads, and staged ${work.writes.length} writes.`)
      return await work.committed({ created: [] })
    }
    audit({ work, operation, caller, input, id: deps.ids.uuid(), at: timestamp(deps.clock.now()) })
    if (claim && answer) claim.record(work, answer, operation.secretOutput ?? [])
    const result = await deps.store.commit(work.commit)
    try {
      await work.committed(result)
    } catch (cause) {
      const error = asAppError(cause)
      throw new AppError(error.code, error.message, { ...error.details, committed: true }, { cause })
    }
  }

  return {
    async invoke(operation, input, credentials, options = {}) {
      try {
        return await run(operation, input, credentials, options)
      } catch (cause) {
        const error = asAppError(cause)
        if (error.status >= 500) {
          const err = error.cause ?? error
          credentials.log.error({ err, operation: operation.name, request_id: credentials.requestId }, "call failed")
        }
        throw error
      }
    },
  }
}

function repeated({ status, body }: KeptAnswer): Answer {
  return { kind: "json", status, body, repeated: true }
}

/** Fields that MCP callers cannot set are dropped before anything reads them. */
function cleared(operation: AnyOperation, input: unknown, { surface }: Credentials): unknown {
  if (surface !== "mcp" || !operation.mcp || !("clears" in operation.mcp) || typeof input !== "object" || input === null) return input
  const clears = new Set(operation.mcp.clears)
  return Object.fromEntries(Object.entries(input).filter(([name]) => !clears.has(name)))
}

/** What a handler returned, as its schema says it: anything else is our fault, never shown. */
async function checkedOutput(operation: AnyOperation, result: unknown): Promise<Json> {
  const parsed = await operation.output.safeParseAsync(result)
  if (!parsed.success) {
    const where = parsed.error.issues.map((issue: { path: PropertyKey[]; message: string }) => `${issue.path.join(".")}: ${issue.message}`)
    throw new Error(`${operation.name} answered something else than its output declares: ${where.join("; ")}`)
  }
  return JSON.parse(JSON.stringify(parsed.data ?? null)) as Json
}
