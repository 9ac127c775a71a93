// What an organization may spend on models in a day (UTC). A call reserves its estimate before it is made and pays what it
// cost after it; what is reserved counts as spent, so that calls at the same instant cannot pass the limit together. (On
// several nodes they can, by what is in progress on the others.)
import { AppError, type Clock, type Store, timestamp, type UnitOfWork } from "#core"
import { DayCostCollection } from "./collections.ts"

export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
}

export interface Budgets {
  readonly max_call_millicents: number
  readonly max_day_millicents: number
}

/** A budget of its own that a call is charged to beside its organization's, such as a workstream's. */
export interface Account {
  readonly id: string
  /** Throws AppError where so many millicents are not left; those of calls in progress are among them. */
  check(millicents: number): Promise<void>
  /** Stages what a call cost. */
  pay(work: UnitOfWork, millicents: number): void
}

export class Budget {
  readonly #store: Store
  readonly #clock: Clock
  readonly #limits: Budgets
  /** Millicents of calls in progress, by organization and by account. */
  readonly #reserved = new Map<string, number>()

  constructor({ store, clock, limits }: { store: Store; clock: Clock; limits: Budgets }) {
    this.#store = store
    this.#clock = clock
    this.#limits = limits
  }

  /** What today's calls cost so far. */
  async spent(organization: string): Promise<number> {
    const day = await this.#store.open(DayCostCollection, organization).get(this.#idOf(organization))
    return day?.millicents ?? 0
  }

  /** Throws `resource_exhausted` where less is left of the day. */
  async check(organization: string, millicents: number): Promise<void> {
    const spent = await this.spent(organization)
    const reserved = this.#reserved.get(organization) ?? 0
    if (spent + reserved + millicents > this.#limits.max_day_millicents) throw this.#exhausted(spent, millicents)
  }

  /** Takes `estimate` out of the day's rest, and the account's, while `run` runs. Throws `resource_exhausted` where too little is left. */
  async reserve<T>(organization: string, estimate: number, account: Account | undefined, run: () => Promise<T>): Promise<T> {
    const { max_call_millicents, max_day_millicents } = this.#limits
    if (estimate > max_call_millicents) {
      throw new AppError(
        "resource_exhausted",
        `The call may cost ${millicents(estimate)}, more than the ${millicents(max_call_millicents)} of one call. Give it less to read, or raise plugins.settings.models.max_call_millicents.`,
        { reason: "model_call_budget", estimate_millicents: estimate, max_millicents: max_call_millicents },
      )
    }
    const others = this.#hold(organization, estimate)
    const othersOfAccount = account ? this.#hold(account.id, estimate) : 0
    try {
      const spent = await this.spent(organization)
      if (spent + others + estimate > max_day_millicents) throw this.#exhausted(spent, estimate)
      await account?.check(othersOfAccount + estimate)
      return await run()
    } finally {
      this.#hold(organization, -estimate)
      if (account) this.#hold(account.id, -estimate)
    }
  }

  /** Returns what was held before. */
  #hold(id: string, millicents: number): number {
    const before = this.#reserved.get(id) ?? 0
    const now = before + millicents
    if (now > 0) this.#reserved.set(id, now)
    else this.#reserved.delete(id)
    return before
  }

  /** Stages what a call cost. */
  pay(work: UnitOfWork, organization: string, cost: number, { inputTokens, outputTokens }: Usage): void {
    const id = this.#idOf(organization)
    const $inc = { millicents: cost, calls: 1, input_tokens: inputTokens, output_tokens: outputTokens }
    work.in(DayCostCollection, organization).update(id, { $set: { day: this.#today() }, $inc }, { upsert: true })
  }

  #exhausted(spent: number, asked: number): AppError {
    const max = this.#limits.max_day_millicents
    const untilMidnight = 86_400 - Math.floor((this.#clock.now() / 1_000) % 86_400)
    return new AppError(
      "resource_exhausted",
      `The organization spent ${millicents(spent)} on models today, of ${millicents(max)} a day (UTC), calls in progress not counted; this may cost ${millicents(asked)}. Try tomorrow, or raise plugins.settings.models.max_day_millicents.`,
      { reason: "model_day_budget", spent_millicents: spent, max_millicents: max },
      { retryAfterS: untilMidnight },
    )
  }

  #today(): string {
    return timestamp(this.#clock.now()).slice(0, 10)
  }

  #idOf(organization: string): string {
    return `${organization}:${this.#today()}`
  }
}

function millicents(value: number): string {
  return `${Math.ceil(value).toLocaleString("en-US")} millicents`
}
