// What an organization may spend on models in a day (UTC). A call reserves its estimate before it is made and pays what it
// cost after it; what is reserved counts as spent, on every node, so that calls at the same instant cannot pass the limit
// together. What a call costs beyond its estimate is not held back.
import { AppError, type Clock, type Store, timestamp, type UnitOfWork, type UnitsOfWork } from "#core"
import { DayCostCollection } from "./collections.ts"
import type { HeldCall, Holds, Limited } from "./holds.ts"

export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
}

export interface Budgets {
  readonly max_call_millicents: number
  readonly max_day_millicents: number
}

/** A second budget of a call beside the budget of its organization, such as that of a workstream. `id` is `<kind> <id>`. */
export interface Account extends Omit<Limited, "book"> {
  /** Stages the cost of a call. `booked` is an earlier estimate of the same call: the cost replaces it. */
  pay(work: UnitOfWork, millicents: number, booked?: number): void
}

/** Returns the account of this id, the part of `Account.id` after its kind. */
export type OpenAccount = (organization: string, id: string) => Account

/** Stages the end of a reserved call and its cost. */
export type Settle = (work: UnitOfWork, cost: number, usage: Usage) => Promise<void>

interface Paid {
  readonly cost: number
  readonly usage: Usage
  readonly booked: number | undefined
}

interface BudgetDeps {
  readonly store: Store
  readonly clock: Clock
  readonly works: UnitsOfWork
  readonly holds: Holds
  readonly limits: Budgets
}

export class Budget {
  readonly #deps: BudgetDeps
  readonly #accounts = new Map<string, OpenAccount>()

  constructor(deps: BudgetDeps) {
    this.#deps = deps
  }

  /** Throws `resource_exhausted` where less is left of the day. */
  async check(organization: string, millicents: number): Promise<void> {
    const day = this.#dayOf(organization)
    await day.check((await this.#deps.holds.held(organization, day.id)) + millicents)
  }

  /** Throws `resource_exhausted` where a call may cost more than one may. */
  requireCall(estimate: number): void {
    const { max_call_millicents } = this.#deps.limits
    if (estimate <= max_call_millicents) return
    throw new AppError(
      "resource_exhausted",
      `The call may cost ${millicents(estimate)}, more than the ${millicents(max_call_millicents)} of one call. Give it less to read, or raise plugins.settings.models.max_call_millicents.`,
      { reason: "model_call_budget", estimate_millicents: estimate, max_millicents: max_call_millicents },
    )
  }

  /** To be called while services are created. */
  serveAccounts(kind: string, open: OpenAccount): void {
    this.#accounts.set(kind, open)
  }

  /** Takes the call out of the day's rest, and the account's, while `run` runs. Throws `resource_exhausted` where too little is left. */
  async reserve<T>(organization: string, call: HeldCall, account: Account | undefined, run: (settle: Settle) => Promise<T>): Promise<T> {
    const { holds } = this.#deps
    const today = this.#today()
    const day = this.#dayOf(organization, today)
    const limits = [day, ...(account ? [limitedBy(account)] : [])]
    await holds.take(organization, call, limits)
    let isPaid = false
    try {
      return await run(async (work, cost, usage) => {
        isPaid = true
        const isFree = call.millicents === 0
        const isBooked = async (limit: Limited) => !isFree && !(await holds.release(work, organization, call, limit))
        this.#pay(work, organization, today, { cost, usage, booked: (await isBooked(day)) ? call.millicents : undefined })
        if (account) account.pay(work, cost, (await isBooked(limitedBy(account))) ? call.millicents : 0)
      })
    } finally {
      // The hold of a paid call stays if its cost could not be stored. It is booked as a lost call later.
      if (!isPaid && call.millicents > 0) await this.#release(organization, call, limits)
    }
  }

  /** Books calls of this budget that did not end within their time limit. */
  async bookLost(organization: string, budget: string): Promise<void> {
    const limit = this.#limitOf(organization, budget)
    if (limit) await this.#deps.holds.bookLost(organization, limit)
  }

  #limitOf(organization: string, budget: string): Limited | undefined {
    if (budget.startsWith(`${organization}:`)) return this.#dayOf(organization, budget.slice(organization.length + 1))
    const [kind = "", id = ""] = budget.split(" ")
    const account = this.#accounts.get(kind)?.(organization, id)
    return account && limitedBy(account)
  }

  /** A hold that cannot be released now is booked as a lost call later. */
  async #release(organization: string, call: HeldCall, limits: readonly Limited[]): Promise<void> {
    const { holds, works } = this.#deps
    const release = async (work: UnitOfWork) => {
      for (const limit of limits) await holds.release(work, organization, call, limit)
    }
    await works.retryConflicts(release).catch(() => undefined)
  }

  #dayOf(organization: string, day = this.#today()): Limited {
    const id = `${organization}:${day}`
    return {
      id,
      book(work, estimates) {
        const $inc = { millicents: estimates.reduce((sum, one) => sum + one, 0), calls: estimates.length }
        const $setOnInsert = { input_tokens: 0, output_tokens: 0 }
        work.in(DayCostCollection, organization).update(id, { $set: { day }, $inc, $setOnInsert }, { upsert: true })
      },
      check: async (asked) => {
        const spent = (await this.#deps.store.open(DayCostCollection, organization).get(id))?.millicents ?? 0
        if (spent + asked > this.#deps.limits.max_day_millicents) throw this.#exhausted(spent, asked)
      },
    }
  }

  /** Stages the cost of a call. A booked call is already counted, with its estimate as its cost. */
  #pay(work: UnitOfWork, organization: string, day: string, { cost, usage, booked }: Paid): void {
    const { inputTokens, outputTokens } = usage
    const counted = booked === undefined ? { millicents: cost, calls: 1 } : { millicents: cost - booked, calls: 0 }
    const $inc = { ...counted, input_tokens: inputTokens, output_tokens: outputTokens }
    work.in(DayCostCollection, organization).update(`${organization}:${day}`, { $set: { day }, $inc }, { upsert: true })
  }

  #exhausted(spent: number, asked: number): AppError {
    const max = this.#deps.limits.max_day_millicents
    const untilMidnight = 86_400 - Math.floor((this.#deps.clock.now() / 1_000) % 86_400)
    return new AppError(
      "resource_exhausted",
      `The organization spent ${millicents(spent)} on models today, of ${millicents(max)} a day (UTC), and this may cost ${millicents(asked)}, calls in progress included. Try tomorrow, or raise plugins.settings.models.max_day_millicents.`,
      { reason: "model_day_budget", spent_millicents: spent, max_millicents: max },
      { retryAfterS: untilMidnight },
    )
  }

  #today(): string {
    return timestamp(this.#deps.clock.now()).slice(0, 10)
  }
}

function limitedBy(account: Account): Limited {
  return {
    id: account.id,
    check: (asked) => account.check(asked),
    book(work, estimates) {
      // Each by itself, as calls are paid: an account may round every amount.
      for (const one of estimates) account.pay(work, one)
    },
  }
}

function millicents(value: number): string {
  return `${Math.ceil(value).toLocaleString("en-US")} millicents`
}
