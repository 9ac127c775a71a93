// What other areas do when a person leaves an organization. Each area registers its part; the removal runs all parts in
// its own unit of work.
import { token, type UnitOfWork } from "#core"

/** A person who leaves an organization. */
export interface Departure {
  readonly organization: string
  readonly user: string
}

/** A paused resource of the person. Another admin can take it over. */
export interface LeftBehind {
  /** Kind of the resource, such as `heartbeat`. */
  readonly kind: string
  readonly id: string
  readonly name: string
  /** Operation by which an admin takes the resource over. */
  readonly operation: string
}

/** Stages the end or the pause of the person's resources. Returns the resources for another admin. */
export type DepartureHook = (work: UnitOfWork, departure: Departure) => Promise<readonly LeftBehind[]>

export interface Departures {
  /** Runs at each departure. To be called while services are created. */
  declare(hook: DepartureHook): void
  /** Runs every hook, in the order of their declaration. */
  stage(work: UnitOfWork, departure: Departure): Promise<LeftBehind[]>
}

export const Departures = token<Departures>("Departures")

export function createDepartures(): Departures {
  const hooks: DepartureHook[] = []
  return {
    declare: (hook) => void hooks.push(hook),
    async stage(work, departure) {
      const left: LeftBehind[] = []
      for (const hook of hooks) left.push(...(await hook(work, departure)))
      return left
    },
  }
}
