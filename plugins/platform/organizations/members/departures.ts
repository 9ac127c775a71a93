// What other areas do when a person leaves an organization. Each area extends the point; the removal runs all items in
// its own unit of work.
import { defineExtensionPoint, type UnitOfWork } from "#core"

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

export const Departures = defineExtensionPoint<DepartureHook>({ id: "organizations.departures" })

/** Runs every hook, in the order of the plugins. */
export async function stageDeparture(hooks: readonly DepartureHook[], work: UnitOfWork, departure: Departure): Promise<LeftBehind[]> {
  const leftovers: LeftBehind[] = []
  for (const hook of hooks) leftovers.push(...(await hook(work, departure)))
  return leftovers
}
