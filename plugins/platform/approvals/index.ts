// Approvals: actions waiting for a person, their decisions and outcomes.
import { z } from "zod"
import { definePlugin, injected, Store } from "#core"
import { Gatekeeper } from "#core/engine"
import { Departures, Principals } from "../organizations/index.ts"
import { Approvals, approvalsChannel } from "./approvals.ts"
import { ApprovalCollection } from "./collections.ts"
import { ApprovalLinks, noticeJob } from "./notice.ts"
import { decideApproval, getApproval, listApprovals } from "./operations.ts"
import { reasons } from "./reasons.ts"
import { expireJob, rejectRequestsOf } from "./undecided.ts"

export { type ApprovalLink, ApprovalLinks } from "./notice.ts"

const dayMs = 86_400_000

export default definePlugin({
  id: "approvals",
  reasons,
  needs: ["autonomy", "email", "organizations"],
  config: z.strictObject({
    expire_days: z.number().min(0.01).max(365).default(7).describe("How long something waits for a decision."),
    keep_days: z
      .int()
      .min(1)
      .max(3_650)
      .default(30)
      .describe("How long an approval is kept after the time for its decision, with what was asked for and what came of it."),
  }),
  extensionPoints: [ApprovalLinks],
  extend: [[Departures, injected({ store: Store, approvals: Approvals, principals: Principals }, rejectRequestsOf)]],
  register(registrar, config) {
    registrar.collections(ApprovalCollection)
    registrar.channels(approvalsChannel)
    registrar.jobs(expireJob, noticeJob)
    registrar.operations(listApprovals, getApproval, decideApproval)
    registrar.provide(Approvals, {
      create: (deps) => new Approvals({ ...deps, expireMs: config.expire_days * dayMs, keepMs: config.keep_days * dayMs }),
    })
    registrar.provide(Gatekeeper, { inject: { approvals: Approvals }, create: ({ approvals }) => approvals })
  },
})
