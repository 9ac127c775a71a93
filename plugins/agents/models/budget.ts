// The daily model budget of an organization (UTC). A call reserves its estimate first and pays its actual cost afterwards.
// Reserved amounts count as spent on every node, so concurrent calls cannot exceed the limit together. Cost beyond the estimate
// is not limited.
import { AppError, type Clock, defineExtensionPoint, type Store, timestamp, type UnitOfWork, type UnitsOfWork } from "#core"
import { DayCostCollection } from "./collections.ts"
import type { Account, HeldCall, Holds } from "./holds.ts"
import type { EmbeddingModelSettings, LanguageModelSettings } from "./settings.ts"

export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
}

const noUsage: Usage = { inputTokens: 0, outputTokens: 0 }

export interface Budgets {
  readonly max_call_millicents: number
  readonly max_day_millicents: number
}

export interface AccountKind {
  readonly kind: string
  /** Opens the account whose `Account.id` is `<kind> <id>`. */
  open(organization: string, id: string): Account
}

/** Opens accounts of other areas, to book lost calls. The last item of a kind counts. */
export const ModelAccounts = defineExtensionPoint<AccountKind>({ id: "models.accounts" })

/** Stages the end of a reserved call and its cost. */
export type Settle = (work: UnitOfWork, cost: number, usage: Usage) => Promise<void>

interface BudgetDeps {
  readonly store: Store
  readonly clock: Clock
  readonly works: UnitsOfWork
  readonly holds: Holds
  readonly limits: Budgets
  readonly accounts: readonly AccountKind[]
}

export class Budget {
  readonly #deps: BudgetDeps

  constructor(deps: BudgetDeps) {
    this.#deps = deps
  }

  /** Throws `resource_exhausted` if the remaining day budget is smaller. */
  async check(organization: string, millicents: number): Promise<void> {
    const day = this.#dayOf(organization)
    await day.check((await this.#deps.holds.heldMillicents(organization, day.id)) + millicents)
  }

  /** Throws `resource_exhausted` if the estimate exceeds the limit per call. */
  requireCall(estimate: number): void {
    const { max_call_millicents } = this.#deps.limits
    if (estimate <= max_call_millicents) return
    throw new AppError(
      "resource_exhausted",
      `The call may cost ${millicents(estimate)}, more than the ${millicents(max_call_millicents)} of one call. Give it less to read, or raise plugins.settings.models.max_call_millicents.`,
      { reason: "model_call_budget", estimate_millicents: estimate, max_millicents: max_call_millicents },
    )
  }

  /**
   * Reserves the call in the day budget and the account while `run` runs. Throws `resource_exhausted` if the remainder is too
   * small.
   */
  async reserve<T>(organization: string, call: HeldCall, account: Account | undefined, run: (settle: Settle) => Promise<T>): Promise<T> {
    const { holds } = this.#deps
    const accounts = [this.#dayOf(organization), ...(account ? [account] : [])]
    await holds.take(organization, call, accounts)
    let isPaid = false
    try {
      return await run(async (work, cost, usage) => {
        isPaid = true
        for (const item of accounts) {
          const isBooked = call.millicents > 0 && !(await holds.release(work, organization, call, item))
          item.pay(work, cost, isBooked ? call.millicents : undefined, usage)
        }
      })
    } finally {
      // If the cost could not be stored, the hold of a paid call stays. It is booked as a lost call later.
      if (!isPaid && call.millicents > 0) await this.#release(organization, call, accounts)
    }
  }

  /** Books calls of this budget after their time limit. */
  async bookLost(organization: string, budget: string): Promise<void> {
    const account = this.#accountOf(organization, budget)
    if (account) await this.#deps.holds.bookLost(organization, account)
  }

  #accountOf(organization: string, budget: string): Account | undefined {
    if (budget.startsWith(`${organization}:`)) return this.#dayOf(organization, budget.slice(organization.length + 1))
    const [kind = "", id = ""] = budget.split(" ")
    return this.#deps.accounts.findLast((account) => account.kind === kind)?.open(organization, id)
  }

  /** Releases the hold. If the release fails, the hold is booked as a lost call later. */
  async #release(organization: string, call: HeldCall, accounts: readonly Account[]): Promise<void> {
    const { holds, works } = this.#deps
    const release = async (work: UnitOfWork) => {
      for (const account of accounts) await holds.release(work, organization, call, account)
    }
    await works.retryConflicts(release).catch(() => undefined)
  }

  #dayOf(organization: string, day = timestamp(this.#deps.clock.now()).slice(0, 10)): Account {
    const id = `${organization}:${day}`
    return {
      id,
      pay(work, cost, booked, { inputTokens, outputTokens } = noUsage) {
        // A booked call is already counted.
        const counted = booked === undefined ? { millicents: cost, calls: 1 } : { millicents: cost - booked, calls: 0 }
        const $inc = { ...counted, input_tokens: inputTokens, output_tokens: outputTokens }
        work.in(DayCostCollection, organization).update(id, { $set: { day }, $inc }, { upsert: true })
      },
      check: async (amount) => {
        const spent = (await this.#deps.store.open(DayCostCollection, organization).get(id))?.millicents ?? 0
        if (spent + amount > this.#deps.limits.max_day_millicents) throw this.#exhausted(spent, amount)
      },
    }
  }

  #exhausted(spent: number, amount: number): AppError {
    const max = this.#deps.limits.max_day_millicents
    const untilMidnight = 86_400 - Math.floor((this.#deps.clock.now() / 1_000) % 86_400)
    return new AppError(
      "resource_exhausted",
      `The organization spent ${millicents(spent)} on models today, of ${millicents(max)} a day (UTC), and this may cost ${millicents(amount)}, calls in progress included. Try tomorrow, or raise plugins.settings.models.max_day_millicents.`,
      { reason: "model_day_budget", spent_millicents: spent, max_millicents: max },
      { retryAfterS: untilMidnight },
    )
  }
}

function millicents(value: number): string {
  return `${Math.ceil(value).toLocaleString("en-US")} millicents`
}

/** Low on purpose, so estimates are upper bounds. An English token has about four bytes, tokens of other scripts have fewer. */
export const bytesPerToken = 2

/** Returns millicents. */
export function costOf({ prices }: LanguageModelSettings | EmbeddingModelSettings, { inputTokens, outputTokens }: Usage): number {
  return (inputTokens * prices.input + outputTokens * prices.output) / 1_000_000
}
