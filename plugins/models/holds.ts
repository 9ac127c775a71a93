// What calls of models in progress may cost at most, reserved in the store before they are made, so that the nodes together
// pass no limit. A call that a killed node took along may have been paid for. It counts until it is booked as spent: when its
// repeat starts, or after the time by which it would have ended, with the next call.
import { type Clock, type Document, defineCollection, type Store, timestamp, type UnitOfWork, type UnitsOfWork } from "#core"

interface HeldCalls extends Document {
  /** Counts reservations, each of which must be made from the last one's state. */
  version: number
  /** By the call's id. */
  calls: { [id: string]: { millicents: number; until: string } }
  expires_at: string
}

/** `id` is that of what the calls are charged to. */
export const HeldCallsCollection = defineCollection<HeldCalls>()({
  name: "model_held_calls",
  scope: "organization",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
})

/** What a call is charged to. */
export interface Limited {
  readonly id: string
  /** Throws AppError where so many millicents are not left. */
  check(millicents: number): Promise<void>
  /** Stages what calls cost at most that were lost with their node. */
  book(work: UnitOfWork, millicents: number, calls: number): void
}

export interface HeldCall {
  /** Another call of this id that is held is this one's first try. */
  readonly id: string
  readonly millicents: number
  readonly forMs: number
}

interface HoldsDeps {
  readonly store: Store
  readonly clock: Clock
  readonly works: UnitsOfWork
}

/** Lost calls are not forgotten before they are booked. */
const keptMs = 400 * 86_400_000
/** Checks in a row during which other calls end. */
const maxTries = 50

export class Holds {
  readonly #deps: HoldsDeps
  /** The last reservation of each organization on this node: they would only come between one another. */
  readonly #last = new Map<string, Promise<unknown>>()

  constructor(deps: HoldsDeps) {
    this.#deps = deps
  }

  /** Reserves what the call may cost with each. Throws what refuses it. */
  async take(organization: string, call: HeldCall, limits: readonly Limited[]): Promise<void> {
    const turn = (this.#last.get(organization) ?? Promise.resolve()).then(() => this.#take(organization, call, limits))
    const ended = turn.catch(() => undefined)
    this.#last.set(organization, ended)
    try {
      await turn
    } finally {
      if (this.#last.get(organization) === ended) this.#last.delete(organization)
    }
  }

  /** Stages that the call is over. */
  release(work: UnitOfWork, organization: string, { id }: Pick<HeldCall, "id">, limits: readonly Pick<Limited, "id">[]): void {
    const update = { $unset: { [`calls.${id}`]: true } } as const
    for (const limit of limits) work.in(HeldCallsCollection, organization).update(limit.id, update, { optional: true })
  }

  /** Millicents of the calls in progress. */
  async held(organization: string, id: string): Promise<number> {
    return this.#sum(await this.#deps.store.open(HeldCallsCollection, organization).get(id))
  }

  async #take(organization: string, call: HeldCall, limits: readonly Limited[]): Promise<void> {
    await this.#deps.works.retryConflicts(async (work) => {
      const found = await this.#checked(organization, call, limits)
      // What costs nothing needs no place.
      if (call.millicents === 0) return
      for (const [at, limit] of limits.entries()) this.#put(work, organization, limit, found[at], call)
    })
  }

  /** Reads the calls in progress and throws if no limit has room. Reads again if a call has ended meanwhile. */
  async #checked(organization: string, call: HeldCall, limits: readonly Limited[]): Promise<(HeldCalls | undefined)[]> {
    for (let tries = 1; ; tries++) {
      // Before what was spent is read: a call that is paid in between counts twice here, and not at all the other way around.
      const found = await this.#read(organization, limits)
      try {
        for (const [at, limit] of limits.entries()) await limit.check(this.#sum(found[at]) + call.millicents)
        return found
      } catch (error) {
        if (tries >= maxTries || !(await this.#hasChanged(organization, limits, found))) throw error
      }
    }
  }

  #read(organization: string, limits: readonly Limited[]): Promise<(HeldCalls | undefined)[]> {
    const held = this.#deps.store.open(HeldCallsCollection, organization)
    return Promise.all(limits.map(({ id }) => held.get(id)))
  }

  async #hasChanged(organization: string, limits: readonly Limited[], before: readonly (HeldCalls | undefined)[]): Promise<boolean> {
    return JSON.stringify(await this.#read(organization, limits)) !== JSON.stringify(before)
  }

  /** With lost calls that are not booked yet. */
  #sum(held: HeldCalls | undefined): number {
    return Object.values(held?.calls ?? {}).reduce((sum, { millicents }) => sum + millicents, 0)
  }

  #put(work: UnitOfWork, organization: string, limit: Limited, held: HeldCalls | undefined, call: HeldCall): void {
    const now = this.#deps.clock.now()
    const entry = { millicents: call.millicents, until: timestamp(now + call.forMs) }
    const expires_at = timestamp(now + keptMs)
    const collection = work.in(HeldCallsCollection, organization)
    if (!held) {
      collection.insert({ id: limit.id, version: 1, calls: { [call.id]: entry }, expires_at })
      return
    }
    const lost = Object.entries(held.calls).filter(([id, { until }]) => id === call.id || until <= timestamp(now))
    if (lost.length > 0) {
      const millicents = lost.reduce((sum, [, one]) => sum + one.millicents, 0)
      limit.book(work, millicents, lost.length)
    }
    const $unset = Object.fromEntries(lost.filter(([id]) => id !== call.id).map(([id]) => [`calls.${id}`, true as const]))
    const update = { $set: { [`calls.${call.id}`]: entry, version: held.version + 1, expires_at }, $unset }
    collection.update(limit.id, update, { where: { version: held.version } })
  }
}

/** Millicents and number of calls whose node ended and that are not booked yet. */
export function lostCalls(held: HeldCalls, now: string): { readonly millicents: number; readonly calls: number } {
  const lost = Object.values(held.calls).filter(({ until }) => until <= now)
  return { millicents: lost.reduce((sum, one) => sum + one.millicents, 0), calls: lost.length }
}
