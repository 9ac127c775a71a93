// Rejects the pending requests of a person who leaves the organization.
import type { Store } from "#core"
import { type DepartureHook, type FindPrincipal, findPrincipal } from "../organizations/index.ts"
import type { Approvals } from "./approvals.ts"
import { ApprovalCollection, type StoredApproval } from "./collections.ts"

const note = "The member who asked is no longer a member of the organization."

export interface DepartureDeps {
  readonly store: Store
  readonly approvals: Approvals
  readonly principals: readonly FindPrincipal[]
}

export function rejectRequestsOf({ store, approvals, principals }: DepartureDeps): DepartureHook {
  return async (work, { organization, user }) => {
    const isTheirs = async ({ requester: { credential_id, user_id } }: StoredApproval) => {
      if (user_id !== null || credential_id === null) return user_id === user
      return (await findPrincipal(principals, organization, credential_id))?.maker?.user_id === user
    }
    for await (const approval of store.open(ApprovalCollection, organization).stream({ state: "pending" })) {
      if (approvals.stateOf(approval) === "pending" && (await isTheirs(approval))) approvals.reject(work, organization, approval, note)
    }
    return []
  }
}
