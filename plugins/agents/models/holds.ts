// Estimates of model calls in progress. The store reserves an estimate before its call starts, so all nodes together stay within
// the limits. A killed node may have paid for its lost calls. Each budget books a lost call's estimate once: at the start of its
// repeat, or after its time limit. If the call ends later, its cost replaces the booked estimate.
import { z } from "zod"
import {
  type Clock,
  type Document,
  defineCollection,
  derivedUuid,
  type JobQueue,
  jobRef,
  type Store,
  timestamp,
  type UnitOfWork,
  type UnitsOfWork,
} from "#core"
import type { Usage } from "./budget.ts"

export const bookLostRef = jobRef("models.book_lost", z.strictObject({ budget: z.string() }), {
  retry: { max_attempts: 10_000, initial_delay_ms: 1_000, factor: 2, max_delay_ms: 60_000 },
})

interface HeldCalls extends Document {
  /** Counts reservations. Each reservation builds on the state of the previous one. */
  version: number
  /** By the call's id. `attempt` differs between a call and its repeat. */
  calls: { [id: string]: { millicents: number; until: string; attempt: string } }
  expires_at: string
}

/** `id` is the id of the charged account. */
export const HeldCallsCollection = defineCollection<HeldCalls>()({
  name: "model_held_calls",
  scope: "organization",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
})

/** A budget that pays for calls. */
export interface Account {
  readonly id: string
  /** Throws AppError if fewer millicents are left. */
  check(millicents: number): Promise<void>
  /**
   * Stages the cost of a call, or the estimate of a lost call. `booked`: an earlier estimate of the same call, replaced by the
   * cost.
   */
  pay(work: UnitOfWork, millicents: number, booked?: number, usage?: Usage): void
}

export interface HeldCall {
  /** The same for a call and its repeats. */
  readonly id: string
  /** A new id for each repeat. */
  readonly attempt: string
  readonly millicents: number
  readonly forMs: number
}

interface HoldsDeps {
  readonly store: Store
  readonly clock: Clock
  readonly works: UnitsOfWork
  readonly queue: JobQueue
}

/** Budgets look for lost calls at the end of each span. */
const bookingMs = 10_000
/** Holds stay at least until their lost calls are booked. */
const keptMs = 400 * 86_400_000
/** Consecutive checks during which other calls end. */
const maxTries = 50

export class Holds {
  readonly #deps: HoldsDeps
  /** The last reservation of each organization on this node. Reservations run in sequence, because concurrent ones would conflict. */
  readonly #last = new Map<string, Promise<unknown>>()

  constructor(deps: HoldsDeps) {
    this.#deps = deps
  }

  /** Reserves the call's estimate in each account. Throws the refusal of an account. */
  async take(organization: string, call: HeldCall, accounts: readonly Account[]): Promise<void> {
    const turn = (this.#last.get(organization) ?? Promise.resolve()).then(() => this.#take(organization, call, accounts))
    const ended = turn.catch(() => undefined)
    this.#last.set(organization, ended)
    try {
      await turn
    } finally {
      if (this.#last.get(organization) === ended) this.#last.delete(organization)
    }
  }

  /** Stages the end of the call. Returns false if the budget has booked the call as lost. */
  async release(work: UnitOfWork, organization: string, { id, attempt }: HeldCall, account: Pick<Account, "id">): Promise<boolean> {
    const heldCalls = await this.#deps.store.open(HeldCallsCollection, organization).get(account.id)
    if (heldCalls?.calls[id]?.attempt !== attempt) return false
    const where = { [`calls.${id}.attempt`]: attempt }
    work.in(HeldCallsCollection, organization).update(account.id, { $unset: { [`calls.${id}`]: true } }, { where })
    return true
  }

  /** Books the calls after their time limit. */
  async bookLost(organization: string, account: Account): Promise<void> {
    await this.#deps.works.retryConflicts(async (work) => {
      const heldCalls = await this.#deps.store.open(HeldCallsCollection, organization).get(account.id)
      const lost = lostIn(heldCalls, timestamp(this.#deps.clock.now()))
      if (heldCalls && lost.length > 0) this.#change(work, organization, account, heldCalls, lost)
    })
  }

  /** Returns millicents of the calls in progress. */
  async heldMillicents(organization: string, id: string): Promise<number> {
    return this.#sum(await this.#deps.store.open(HeldCallsCollection, organization).get(id))
  }

  async #take(organization: string, call: HeldCall, accounts: readonly Account[]): Promise<void> {
    await this.#deps.works.retryConflicts(async (work) => {
      const heldCalls = await this.#checked(organization, call, accounts)
      // Calls without cost need no reservation.
      if (call.millicents === 0) return
      for (const [at, account] of accounts.entries()) this.#put(work, organization, account, heldCalls[at], call)
    })
  }

  /** Reads the calls in progress and throws if a limit is exceeded. Reads again if a call has ended meanwhile. */
  async #checked(organization: string, call: HeldCall, accounts: readonly Account[]): Promise<(HeldCalls | undefined)[]> {
    for (let tries = 1; ; tries++) {
      // Read before the spent amount. A call paid in between counts twice in this order, and would be missed in the other.
      const heldCalls = await this.#read(organization, accounts)
      try {
        for (const [at, account] of accounts.entries()) await account.check(this.#sum(heldCalls[at]) + call.millicents)
        return heldCalls
      } catch (error) {
        if (tries >= maxTries || !(await this.#hasChanged(organization, accounts, heldCalls))) throw error
      }
    }
  }

  #read(organization: string, accounts: readonly Account[]): Promise<(HeldCalls | undefined)[]> {
    const collection = this.#deps.store.open(HeldCallsCollection, organization)
    return Promise.all(accounts.map(({ id }) => collection.get(id)))
  }

  async #hasChanged(organization: string, accounts: readonly Account[], before: readonly (HeldCalls | undefined)[]): Promise<boolean> {
    return JSON.stringify(await this.#read(organization, accounts)) !== JSON.stringify(before)
  }

  /** Includes lost calls before their booking. */
  #sum(heldCalls: HeldCalls | undefined): number {
    return Object.values(heldCalls?.calls ?? {}).reduce((sum, { millicents }) => sum + millicents, 0)
  }

  #put(work: UnitOfWork, organization: string, account: Account, heldCalls: HeldCalls | undefined, call: HeldCall): void {
    const now = this.#deps.clock.now()
    const entry = { millicents: call.millicents, until: timestamp(now + call.forMs), attempt: call.attempt }
    if (heldCalls)
      this.#change(work, organization, account, heldCalls, lostIn(heldCalls, timestamp(now), call.id), { [`calls.${call.id}`]: entry })
    else {
      const expires_at = timestamp(now + keptMs)
      work.in(HeldCallsCollection, organization).insert({ id: account.id, version: 1, calls: { [call.id]: entry }, expires_at })
    }
    const runAt = Math.ceil((now + call.forMs) / bookingMs) * bookingMs
    const id = derivedUuid("lost model calls", organization, account.id, String(runAt))
    this.#deps.queue.enqueue(work, bookLostRef, { budget: account.id }, { id, organization, runAt })
  }

  /** Stages the booking of the lost calls and the entry of a new call. The commit fails if a lost call has ended. */
  #change(
    work: UnitOfWork,
    organization: string,
    account: Account,
    { version, calls }: HeldCalls,
    lost: readonly string[],
    entry: { readonly [path: string]: HeldCalls["calls"][string] } = {},
  ): void {
    // Paid one by one, because an account may round each amount.
    for (const id of lost) account.pay(work, calls[id]?.millicents ?? 0)
    const places = lost.map((id) => [`calls.${id}.until`, calls[id]?.until ?? ""] as const)
    const removed = lost.map((id) => `calls.${id}`).filter((path) => !(path in entry))
    const update = {
      $set: { ...entry, version: version + 1, expires_at: timestamp(this.#deps.clock.now() + keptMs) },
      $unset: Object.fromEntries(removed.map((path) => [path, true as const])),
    }
    const where = { version, ...Object.fromEntries(places) }
    work.in(HeldCallsCollection, organization).update(account.id, update, { where })
  }
}

/** Returns estimates of unbooked lost calls, in millicents. */
export function lostEstimates(heldCalls: HeldCalls | undefined, now: string): number[] {
  return lostIn(heldCalls, now).map((id) => heldCalls?.calls[id]?.millicents ?? 0)
}

/** Returns ids of the repeated call and of calls beyond their time limit. */
function lostIn(heldCalls: HeldCalls | undefined, now: string, repeated?: string): string[] {
  return Object.entries(heldCalls?.calls ?? {}).flatMap(([id, { until }]) => (id === repeated || until <= now ? [id] : []))
}
