// Heartbeats after the clock was ahead: each runs again on its own grid.
import type { ClockCorrection, Store, UnitsOfWork } from "#core"
import type { Organizations } from "../../platform/organizations/index.ts"
import { HeartbeatResource } from "./heartbeat.ts"
import type { Heartbeats } from "./heartbeats.ts"

export interface CorrectionsDeps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly organizations: Organizations
  readonly heartbeats: Heartbeats
}

/** Returns how many heartbeats run sooner now. */
export async function correctHeartbeats(deps: CorrectionsDeps, { now }: ClockCorrection): Promise<number> {
  const { store, works, organizations, heartbeats } = deps
  let count = 0
  for await (const { id: organization } of organizations.all()) {
    for await (const { id } of store.open(HeartbeatResource.collection, organization).stream({ state: "active" })) {
      const isCorrected = await works.retryConflicts(async (work) => {
        const heartbeat = await heartbeats.find(organization, id)
        return heartbeat !== undefined && heartbeats.correct(work, organization, heartbeat, now)
      })
      if (isCorrected) count++
    }
  }
  return count
}
