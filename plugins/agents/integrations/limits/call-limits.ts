// Rate limits of apps, counted for each connection over all nodes, and waits requested by Retry-After (429, or 503 with it).
// During the wait calls are refused, with the time for a retry.
import { AppError, type Clock, isConflict, type OutgoingResponse, type Store, timestamp, type UnitsOfWork } from "#core"
import type { AppDocument } from "../apps/document.ts"
import type { Connection } from "../connections.ts"
import { type CallCount, CallCounts } from "./collections.ts"
import { spend, type WindowLimit } from "./window.ts"

type RateLimit = AppDocument["rate_limits"][number]

export interface LimitedCall {
  /** Owner of the connection. */
  readonly organization: string
  readonly connection: Pick<Connection, "id" | "slug">
  readonly limits: readonly RateLimit[]
}

interface Deps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly clock: Clock
}

const maxAskedMs = 3_600_000
/** Refused callers are spread over at most this time. */
const maxSpreadMs = 3_600_000
const maxKept = 10_000

export class CallLimits {
  readonly #deps: Deps
  /** By connection: the last queued call of this node. */
  readonly #lines = new Map<string, Promise<unknown>>()
  readonly #inFlight = new Map<string, number>()
  /** Retry time of the last refused caller. */
  readonly #told = new Map<string, number>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Throws `unavailable` before the call if the limits or the vendor forbid a call now. */
  async run(call: LimitedCall, send: () => Promise<OutgoingResponse>): Promise<OutgoingResponse> {
    const { id } = call.connection
    const atOnce = this.#inFlight.get(id) ?? 0
    const full = call.limits.find(({ counted, per_seconds, requests }) => counted && per_seconds === undefined && atOnce >= requests)
    if (full) throw limited(call, `${full.requests} calls at once`, 1_000)
    this.#inFlight.set(id, atOnce + 1)
    try {
      await this.#inLine(id, () => this.#take(call))
      const answer = await send()
      await this.#note(call, answer)
      return answer
    } finally {
      const now = (this.#inFlight.get(id) ?? 1) - 1
      if (now > 0) this.#inFlight.set(id, now)
      else this.#inFlight.delete(id)
    }
  }

  async #take(call: LimitedCall): Promise<void> {
    const { clock } = this.#deps
    const { id, slug } = call.connection
    const windows = call.limits.flatMap(({ counted, requests, per_seconds }) => (counted && per_seconds ? [{ requests, per_seconds }] : []))
    await this.#change(call, (before) => {
      const now = clock.now()
      const waitMs = before?.asked_until ? Date.parse(before.asked_until) - now : 0
      // A longer wait was written by a fast clock.
      if (waitMs > 0 && waitMs <= maxAskedMs + maxSpreadMs) throw asked(slug, waitMs)
      if (windows.length === 0) return undefined
      const counted = spend(windows, before?.spent ?? {}, now)
      if ("full" in counted) {
        const { full, roomAt } = counted
        throw limited(call, `${full.requests} calls in ${full.per_seconds} s`, this.#comeBackAt(id, full, roomAt) - now)
      }
      const longest = Math.max(...windows.map(({ per_seconds }) => per_seconds)) * 2_000
      return { spent: counted.spent, asked_until: null, expires_at: timestamp(now + longest) }
    })
  }

  /** Spreads the retry times. Otherwise the first callers would use up all capacity. */
  #comeBackAt(id: string, { requests, per_seconds }: WindowLimit, roomAt: number): number {
    const next = (this.#told.get(id) ?? 0) + (per_seconds * 1_000) / requests
    const at = Math.min(Math.max(roomAt, next), roomAt + maxSpreadMs)
    if (this.#told.size >= maxKept) this.#told.clear()
    this.#told.set(id, at)
    return at
  }

  async #note(call: LimitedCall, { status, headers }: OutgoingResponse): Promise<void> {
    if (status !== 429 && status !== 503) return
    const now = this.#deps.clock.now()
    const waitMs = Math.min(waitOf(headers["retry-after"], now), maxAskedMs)
    if (waitMs <= 0) return
    const asked_until = timestamp(now + waitMs)
    await this.#inLine(call.connection.id, () =>
      this.#change(call, (before) => {
        const expires_at = before && before.expires_at > asked_until ? before.expires_at : asked_until
        return { spent: before?.spent ?? {}, asked_until, expires_at }
      }),
    )
  }

  /** Serializes the counts per connection, so calls of a node do not overwrite each other's counts. */
  async #inLine(id: string, run: () => Promise<void>): Promise<void> {
    const turn = (this.#lines.get(id) ?? Promise.resolve()).then(run, run)
    this.#lines.set(id, turn)
    try {
      await turn
    } finally {
      if (this.#lines.get(id) === turn) this.#lines.delete(id)
    }
  }

  async #change(
    call: LimitedCall,
    change: (before: CallCount | undefined) => Pick<CallCount, "spent" | "asked_until" | "expires_at"> | undefined,
  ): Promise<void> {
    const { store, works } = this.#deps
    const { organization, connection } = call
    const { id } = connection
    try {
      await works.retryConflicts(async (work) => {
        const before = await store.open(CallCounts, organization).get(id)
        const after = change(before)
        if (!after) return
        const counts = work.in(CallCounts, organization)
        if (!before) counts.insert({ id, revision: 1, ...after })
        else counts.update(id, { $set: after, $inc: { revision: 1 } }, { where: { revision: before.revision } })
      })
    } catch (error) {
      throw isConflict(error) ? limited(call, "so many nodes at once", 1_000) : error
    }
  }
}

function limited({ connection: { slug } }: LimitedCall, limit: string, waitMs: number): AppError {
  const retryAfterS = Math.max(1, Math.ceil(waitMs / 1_000))
  const message = `The integration "${slug}" was not called: its app allows ${limit}, which are taken. Try again in ${retryAfterS} s.`
  return new AppError("unavailable", message, { reason: "app_rate_limited", retry_after_s: retryAfterS }, { retryAfterS, notTried: true })
}

function asked(slug: string, waitMs: number): AppError {
  const retryAfterS = Math.max(1, Math.ceil(waitMs / 1_000))
  const message = `The integration "${slug}" was not called: its vendor asked to wait, for ${retryAfterS} s from now.`
  return new AppError("unavailable", message, { reason: "app_asked_to_wait", retry_after_s: retryAfterS }, { retryAfterS, notTried: true })
}

/** Parses seconds or an HTTP date (RFC 9110 section 10.2.3). Returns 0 for other text. */
function waitOf(text: string | undefined, now: number): number {
  if (text === undefined) return 0
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now
  return Number.isFinite(ms) ? Math.max(0, ms) : 0
}
