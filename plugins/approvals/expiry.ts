// An approval that nobody decided in time: written down, and what waited for it told.
import { defineJob } from "#core"
import { ApprovalsToken, expireJobRef } from "./approvals.ts"

export const expireJob = defineJob({
  ...expireJobRef,
  summary: "Notes that nobody decided about an approval in time.",
  inject: { approvals: ApprovalsToken },
  async run({ payload: { organization, approval_id }, deps: { approvals }, work }) {
    const approval = await approvals.find(organization, approval_id)
    if (approval?.state === "pending" && approvals.stateOf(approval) === "expired") approvals.expire(work, organization, approval)
  },
})
