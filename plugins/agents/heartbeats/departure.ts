// A person who leaves the organization takes the rights of their heartbeats along: the heartbeats pause, and another member
// resumes them.
import type { Store } from "#core"
import type { DepartureHook } from "../../platform/organizations/index.ts"
import { HeartbeatResource } from "./heartbeat.ts"
import type { Heartbeats } from "./heartbeats.ts"

const reason = "Its maker left the organization. Another member resumes it, and answers for it from then on."

export function pauseHeartbeatsOf({ store, heartbeats }: { readonly store: Store; readonly heartbeats: Heartbeats }): DepartureHook {
  return async (work, { organization, user }) => {
    const active = await store.open(HeartbeatResource.collection, organization).find({ state: "active", "made_by.user_id": user })
    for (const heartbeat of active) heartbeats.pause(work, organization, heartbeat, reason)
    return active.map(({ id, name }) => ({ kind: "heartbeat", id, name, operation: "heartbeats.resume" }))
  }
}
