// An approval that nobody decided in time: written down, and what waited for it told.
import { AppError, defineJob, UnitsOfWork } from "#core"
import { Approvals, expireJobRef } from "./approvals.ts"

export const expireJob = defineJob(expireJobRef, {
  summary: "Notes that nobody decided about an approval in time.",
  inject: { approvals: Approvals, works: UnitsOfWork },
  async run({ payload: { organization, approval_id }, deps: { approvals, works } }) {
    const approval = await approvals.find(organization, approval_id)
    if (approval?.state !== "pending" || approvals.stateOf(approval) !== "expired") return
    try {
      await works.run((work) => approvals.expire(work, organization, approval))
    } catch (error) {
      // Decided, or removed, meanwhile.
      if (!(error instanceof AppError && (error.code === "aborted" || error.code === "not_found"))) throw error
    }
  },
})
