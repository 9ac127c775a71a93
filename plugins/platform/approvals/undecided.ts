// The expiry of an undecided approval: stores the state and releases the waiting job.
import { AppError, defineJob, type Store, UnitsOfWork } from "#core"
import { type DepartureHook, type FindPrincipal, findPrincipal } from "../organizations/index.ts"
import { Approvals, expireJobRef } from "./approvals.ts"
import { ApprovalCollection, type StoredApproval } from "./collections.ts"

export const expireJob = defineJob(expireJobRef, {
  summary: "Notes that nobody decided about an approval in time.",
  inject: { approvals: Approvals, works: UnitsOfWork },
  async run({ payload: { organization, approval_id }, deps: { approvals, works } }) {
    const approval = await approvals.find(organization, approval_id)
    if (approval?.state !== "pending" || approvals.stateOf(approval) !== "expired") return
    try {
      await works.run((work) => approvals.expire(work, organization, approval))
    } catch (error) {
      // Decided or removed in the meantime.
      if (!(error instanceof AppError && (error.code === "aborted" || error.code === "not_found"))) throw error
    }
  },
})

const note = "The member who asked is no longer a member of the organization."

interface DepartureDeps {
  readonly store: Store
  readonly approvals: Approvals
  readonly principals: readonly FindPrincipal[]
}

/** Rejects the pending requests of a person leaving the organization. */
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
