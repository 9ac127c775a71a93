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

/** A budget of its own that a call is charged to beside its organization's, such as a workstream's. */
export interface Account extends Omit<Limited, "book"> {
  /** Stages what a call cost. */
  pay(work: UnitOfWork, millicents: number): void
}

/** Stages that a reserved call is over, and what it cost. */
export type Settle = (work: UnitOfWork, cost: number, usage: Usage) => void

interface BudgetDeps {
  readonly store: Store
  readonly clock: Clock
  readonly works: UnitsOfWork
  readonly holds: Holds
  readonly limits: Budgets
}

export class Budget {
  readonly #deps: BudgetDeps

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

  /** Takes the call out of the day's rest, and the account's, while `run` runs. Throws `resource_exhausted` where too little is left. */
  async reserve<T>(organization: string, call: HeldCall, account: Account | undefined, run: (settle: Settle) => Promise<T>): Promise<T> {
    const { holds, works } = this.#deps
    const limits = [this.#dayOf(organization), ...(account ? [limitedBy(account)] : [])]
    await holds.take(organization, call, limits)
    let isSettled = false
    try {
      return await run((work, cost, usage) => {
        this.#pay(work, organization, cost, usage)
        account?.pay(work, cost)
        holds.release(work, organization, call, limits)
        work.afterCommit(() => {
          isSettled = true
        })
      })
    } finally {
      // Where that fails too, it ends by itself.
      if (!isSettled && call.millicents > 0)
        await works.run((work) => holds.release(work, organization, call, limits)).catch(() => undefined)
    }
  }

  #dayOf(organization: string): Limited {
    const id = this.#idOf(organization)
    const day = this.#today()
    return {
      id,
      book(work, cost, calls) {
        const $inc = { millicents: cost, calls }
        const $setOnInsert = { input_tokens: 0, output_tokens: 0 }
        work.in(DayCostCollection, organization).update(id, { $set: { day }, $inc, $setOnInsert }, { upsert: true })
      },
      check: async (asked) => {
        const spent = (await this.#deps.store.open(DayCostCollection, organization).get(id))?.millicents ?? 0
        if (spent + asked > this.#deps.limits.max_day_millicents) throw this.#exhausted(spent, asked)
      },
    }
  }

  #pay(work: UnitOfWork, organization: string, cost: number, { inputTokens, outputTokens }: Usage): void {
    const id = this.#idOf(organization)
    const $inc = { millicents: cost, calls: 1, input_tokens: inputTokens, output_tokens: outputTokens }
    work.in(DayCostCollection, organization).update(id, { $set: { day: this.#today() }, $inc }, { upsert: true })
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

  #idOf(organization: string): string {
    return `${organization}:${this.#today()}`
  }
}

function limitedBy(account: Account): Limited {
  return { id: account.id, check: (asked) => account.check(asked), book: (work, cost) => account.pay(work, cost) }
}

function millicents(value: number): string {
  return `${Math.ceil(value).toLocaleString("en-US")} millicents`
}
