// The single call path of REST, MCP, the CLI and sockets: authenticate, rate limit, authorise, parse, idempotency, handle, check
// the output, commit, answer. It is independent of HTTP.
import { isDeepStrictEqual } from "node:util"
import type { AnyCaller, Authenticator, Caller, Credentials } from "../contract/caller.ts"
import { callerKind } from "../contract/caller-kind.ts"
import type { Json } from "../contract/collection.ts"
import { targetChanged } from "../contract/gate.ts"
import type { AnyOperation, Streamed } from "../contract/operation.ts"
import type { Pauses } from "../contract/pauses.ts"
import type { RateLimiter } from "../contract/rate-limiter.ts"
import type { Store } from "../contract/store.ts"
import { StagedWork, type UnitOfWork } from "../contract/unit-of-work.ts"
import type { Clock } from "../kernel/clock.ts"
import { type Deps, type TokenRecord, token } from "../kernel/di.ts"
import { AppError, asAppError } from "../kernel/errors.ts"
import type { Ids } from "../kernel/ids.ts"
import { giveWay } from "../kernel/main-thread.ts"
import { nameWork } from "../kernel/request-scope.ts"
import { inSpan } from "../kernel/tracing.ts"
import type { AddressLimits } from "./call/address-limits.ts"
import { type CallAnswer, jsonAnswer, outputText, repeatedAnswer } from "./call/answer.ts"
import { audit, changesOf } from "./call/audit.ts"
import { authorise, refuseOperatorFields, requireOrganization } from "./call/authorise.ts"
import { auditedOf, type Gating, heldBack, targetOf } from "./call/gated.ts"
import { type Claim, Idempotency, type KeptAnswer } from "./call/idempotency.ts"
import { parseInput } from "./call/parse-input.ts"
import { type Quota, RateLimits } from "./call/rate-limit.ts"
import { StreamTurns } from "./call/stream-turns.ts"

export interface InvokeOptions {
  /** Applies to POST operations with changes. */
  readonly idempotencyKey?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Receives the remaining quotas as soon as they are known, also for a refused call. */
  readonly quotas?: (quotas: readonly Quota[]) => void
  /** True if the surface called `authorise` before it read the input. */
  readonly authorised?: boolean
}

export interface Invoker {
  /** Always throws AppError. Causes hidden from callers are logged. */
  invoke(operation: AnyOperation, input: unknown, credentials: Credentials, options?: InvokeOptions): Promise<CallAnswer>
  /** Authenticates and counts the call. For surfaces with several calls in one exchange. */
  admit(credentials: Credentials, options?: Pick<InvokeOptions, "quotas">): Promise<AnyCaller>
  /** Performs a call of an admitted caller. */
  perform(operation: AnyOperation, input: unknown, caller: AnyCaller, options?: Omit<InvokeOptions, "quotas">): Promise<CallAnswer>
  /** Performs an approved call: handles and audits it in the unit of work of its job. The job commits. */
  performApproved(operation: AnyOperation, input: unknown, caller: Caller, job: ApprovedCall): Promise<Json>
}

export const Invoker = token<Invoker>("Invoker")

export interface InvokerDeps {
  readonly authenticator: Authenticator
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly rateLimiter: RateLimiter
  readonly rateLimits: { readonly key_per_minute: number; readonly organization_per_minute: number }
  /** Organizations with paused calls. */
  readonly pauses: Pauses
  /** Counts refused credentials by address. */
  readonly addresses?: AddressLimits
  /** Retention of audit records in days; default: one year. */
  readonly auditDays?: number
  /** `Vault.keyFor("idempotency")`. */
  readonly digestKey: Buffer
  /** Resolves the dependencies of an operation: `all` of the container. */
  readonly resolve: (inject: TokenRecord | undefined) => Deps<TokenRecord>
  /** Called for a call of a gated operation. */
  readonly gating?: () => Gating
}

export interface ApprovedCall {
  readonly work: UnitOfWork
  /** The approval's id. */
  readonly callId: string
  readonly signal: AbortSignal
  /** Recipients of the call when approval was requested. */
  readonly target: Json
}

interface Call {
  readonly operation: AnyOperation
  readonly caller: AnyCaller
  readonly input: unknown
  readonly claim: Claim | undefined
  readonly signal: AbortSignal
}

/** More writes are audited and committed in separate turns of the event loop. */
const manyWrites = 100

/** Error codes of a repeat right after its first call succeeded. */
const collisions = new Set(["already_exists", "aborted", "failed_precondition"])

export function createInvoker(deps: InvokerDeps): Invoker {
  const limits = new RateLimits(deps.rateLimiter, deps.rateLimits)
  const idempotency = new Idempotency(deps)
  const streams = new StreamTurns()
  const never = new AbortController().signal
  const resolved = new Map<AnyOperation, Deps<TokenRecord>>()

  /** Services are singletons. One lookup for each operation is enough. */
  function depsOf(operation: AnyOperation): Deps<TokenRecord> {
    const known = resolved.get(operation)
    if (known) return known
    const found = deps.resolve(operation.inject)
    resolved.set(operation, found)
    return found
  }

  async function admit(credentials: Credentials, options: Pick<InvokeOptions, "quotas">): Promise<AnyCaller> {
    const authenticate = () => deps.authenticator.authenticate(credentials)
    const caller = await (deps.addresses?.guard(credentials.address, authenticate) ?? authenticate())
    const { quotas, refusal } = await limits.take(caller)
    nameWork({ organization: caller.organization?.id ?? "" })
    options.quotas?.(quotas)
    if (refusal) throw refusal
    return caller
  }

  async function perform(operation: AnyOperation, given: unknown, caller: AnyCaller, options: InvokeOptions): Promise<CallAnswer> {
    nameWork({ operation: operation.name, organization: caller.organization?.id ?? "" })
    if (options.authorised !== true) authorise(operation.access, caller, operation.name)
    deps.pauses.refuseCall(operation, caller)
    const raw = cleared(operation, given, caller)
    const input: unknown = await parseInput(operation.input, raw)
    refuseOperatorFields(operation.access, caller, raw)
    const key = operation.http.method === "POST" && !operation.hints.readOnly ? options.idempotencyKey : undefined
    const call = { operation, caller, input, signal: options.signal ?? never }
    if (key === undefined) return await handle({ ...call, claim: undefined })
    return await once(call, idempotency.claim(operation, caller, key, raw))
  }

  /** Handles a call with an idempotency key, or returns the response of the first call. */
  async function once(call: Omit<Call, "claim">, claim: Claim): Promise<CallAnswer> {
    try {
      const first = await claim.first()
      if (first) return repeatedAnswer(first)
      if (call.operation.hints.openWorld === true && !call.operation.joinsRepeats) await claim.reserve()
      return await handle({ ...call, claim })
    } catch (error) {
      const winner = error instanceof AppError && collisions.has(error.code) ? await claim.first() : undefined
      if (winner) return repeatedAnswer(winner)
      throw error
    } finally {
      await claim.release().catch((err: unknown) => call.caller.log.warn({ err }, "an idempotency reservation stays until it expires"))
    }
  }

  async function handle(call: Call): Promise<CallAnswer> {
    const { operation, caller } = call
    const { onConflict } = operation
    if (operation.streams) return await streamed(call)
    if (!onConflict) return await attempt(call)
    try {
      return await attempt(call)
    } catch (error) {
      if (!cameSecond(error)) throw error
    }
    return await attempt(call).catch(async (error: unknown) => {
      throw cameSecond(error) ? await onConflict({ error, caller, deps: depsOf(operation) }) : error
    })
  }

  /** The handler runs when the organization may open another stream. */
  async function streamed(call: Call): Promise<CallAnswer> {
    const { operation, signal } = call
    const { organization } = requireOrganization(call.caller, operation.name)
    const release = await streams.enter(organization.id, signal)
    try {
      const answer = await attempt(call)
      if (answer.kind !== "stream") throw new Error(`${operation.name} is declared to stream, and did not.`)
      return { ...answer, stream: streams.inTurn(organization.id, answer.stream, release) }
    } catch (error) {
      release()
      throw error
    }
  }

  async function attempt(call: Call): Promise<CallAnswer> {
    const { operation, caller, input, signal, claim } = call
    const work = new StagedWork(deps.ids.uuid())
    const callId = claim?.id ?? work.id
    const held = operation.gate
      ? await heldBack(
          { operation, caller: requireOrganization(caller, operation.name), input, work, deps: depsOf(operation) },
          deps.gating?.(),
        )
      : undefined
    const result: unknown = held ? held.answer : await operation.handle({ input, caller, deps: depsOf(operation), work, signal, callId })
    const status = operation.http.status ?? 200
    if (operation.streams) {
      await commit(work, call, undefined)
      return { kind: "stream", status, stream: result as Streamed }
    }
    const answer = jsonAnswer(status, await outputText(operation, result))
    // Repeats of a waiting call receive the approval of the first call.
    const isFinal = held !== undefined || (operation.joinsRepeats?.(result) ?? true)
    await commit(work, held ? { ...call, input: auditedOf(operation, input, held.filed) } : call, isFinal ? answer : undefined)
    return answer
  }

  async function performApproved(operation: AnyOperation, given: unknown, caller: Caller, job: ApprovedCall): Promise<Json> {
    authorise(operation.access, caller, operation.name)
    deps.pauses.refuseCall(operation, caller)
    const input: unknown = await parseInput(operation.input, given)
    const target = await targetOf(operation, input, { organization: caller.organization.id, deps: depsOf(operation) })
    if (!isDeepStrictEqual(target, job.target)) throw targetChanged(job.callId, job.target)
    const result: unknown = await operation.handle({ input, caller, deps: depsOf(operation), ...job })
    const { body } = jsonAnswer(200, await outputText(operation, result))
    await audited(job.work, { operation, caller, input })
    return body
  }

  async function audited(work: UnitOfWork, { operation, caller, input }: Pick<Call, "operation" | "caller" | "input">): Promise<void> {
    const { organization } = caller
    const changes = organization && (await changesOf(deps.store, work.writes, organization.id))
    audit({
      work,
      operation,
      caller,
      input,
      ...(changes && { changes }),
      id: deps.ids.uuid(),
      now: deps.clock.now(),
      keptDays: deps.auditDays ?? 365,
    })
  }

  async function commit(work: StagedWork, call: Call, answer: KeptAnswer | undefined): Promise<void> {
    const { operation, claim } = call
    if (operation.hints.readOnly) {
      if (work.writes.length > 0) throw new Error(`${operation.name} is declared read-only, but staged ${work.writes.length} writes.`)
      return await work.committed({ created: [] })
    }
    const hasManyWrites = work.writes.length > manyWrites
    if (hasManyWrites) await giveWay()
    await audited(work, call)
    if (claim && answer) claim.record(work, answer, operation.secretOutput ?? [])
    if (hasManyWrites) await giveWay()
    const result = await deps.store.commit(work.commit)
    try {
      await work.committed(result)
    } catch (cause) {
      const error = asAppError(cause)
      throw AppError.from({ ...error.toBody(), details: { ...error.details, committed: true } }, { cause })
    }
  }

  /** Runs a part of a call in its own span. Every failure becomes an AppError with a logged cause. */
  async function told<T>(operation: string, { log, requestId, surface }: CallContext, run: () => Promise<T>): Promise<T> {
    const attributes = () => ({ "millrace.operation": operation, "millrace.surface": surface, "millrace.request_id": requestId })
    return await inSpan(operation, { attributes }, async (span) => {
      try {
        return await run()
      } catch (cause) {
        const error = asAppError(cause)
        span.setAttribute("millrace.error_code", error.code)
        if (error.status >= 500) log.error({ err: error.cause ?? error, operation, request_id: requestId }, "call failed")
        throw error
      }
    })
  }

  return {
    invoke: (operation, input, credentials, options = {}) =>
      told(operation.name, credentials, async () => await perform(operation, input, await admit(credentials, options), options)),
    admit: (credentials, options = {}) => told("admit", credentials, () => admit(credentials, options)),
    performApproved,
    perform: (operation, input, caller, options = {}) => told(operation.name, caller, () => perform(operation, input, caller, options)),
  }
}

/** Another change was committed between the read and the commit. */
function cameSecond(error: unknown): error is AppError {
  return error instanceof AppError && (error.code === "aborted" || error.code === "already_exists") && error.details["committed"] !== true
}

type CallContext = Pick<Credentials, "log" | "requestId" | "surface">

/** Removes fields reserved for other callers from an agent's input before it is read. */
function cleared(operation: AnyOperation, input: unknown, caller: AnyCaller): unknown {
  if (callerKind(caller) !== "agent" || !operation.mcp || !("clears" in operation.mcp) || typeof input !== "object" || input === null)
    return input
  const clears = new Set<string>(operation.mcp.clears)
  return Object.fromEntries(Object.entries(input).filter(([name]) => !clears.has(name)))
}
