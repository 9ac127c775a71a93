// The job behind a call with required approval. Performs exactly the approved call, once, in the commit of its receipt.
import { type Caller, roleAtLeast } from "../contract/caller.ts"
import { Gatekeeper, notApproved, withReason } from "../contract/gate.ts"
import { defineJob, Postponed } from "../contract/job.ts"
import { Operations } from "../contract/operation.ts"
import { Declarations } from "../contract/registrar.ts"
import { Clock } from "../kernel/clock.ts"
import { AppError, asAppError, type ErrorCode } from "../kernel/errors.ts"
import { approvedCallJob } from "./call/gated.ts"
import { Invoker } from "./invoke.ts"

/** Error codes of temporary failures. A retry may succeed. */
const passing: ReadonlySet<ErrorCode> = new Set([
  "aborted",
  "resource_exhausted",
  "internal",
  "unknown",
  "unavailable",
  "deadline_exceeded",
])

/** Due when the approval is decided or expires. */
export const approvedCall = defineJob(approvedCallJob, {
  summary: "A call that waited for approval.",
  inject: { declarations: Declarations, invoker: Invoker, keeper: Gatekeeper, clock: Clock },
  async run({ payload, deps: { declarations, invoker, keeper, clock }, work, signal, log }) {
    const { approval_id, caller: asked } = payload
    const organization = asked.organization.id
    const decision = await keeper.decision(organization, approval_id)
    if (decision.state === "pending") throw new Postponed(Math.max(1_000, Date.parse(decision.expires_at) - clock.now()))
    if (decision.state === "revoked")
      await keeper.complete(work, organization, approval_id, { ok: false, error: withReason(notApproved(decision, approval_id)) })
    if (decision.state !== "approved") return
    const operation = declarations.get(Operations, payload.operation)
    if (!operation)
      throw new AppError("unimplemented", `No plugin declares ${payload.operation}.`, { reason: "unknown_operation", retryable: false })
    const caller: Caller = {
      organization: asked.organization,
      role: decision.role === undefined || roleAtLeast(decision.role, asked.role) ? asked.role : decision.role,
      ...(asked.manager ? { manager: asked.manager } : {}),
      scopes: undefined,
      credential: { ...asked.credential, kind: "internal" },
      user: asked.user ?? undefined,
      surface: "internal",
      requestId: asked.request_id,
      log,
    }
    const result = await invoker
      .performApproved(operation, decision.input, caller, { work, callId: approval_id, signal, target: decision.target })
      .catch((cause: unknown) => {
        const error = asAppError(cause)
        throw passing.has(error.code)
          ? error
          : AppError.from({ ...error.toBody(), details: { ...error.details, retryable: false } }, { cause })
      })
    await keeper.complete(work, organization, approval_id, { ok: true, result })
  },
  async exhausted({ payload, deps: { keeper }, work }, cause) {
    await keeper.complete(work, payload.caller.organization.id, payload.approval_id, { ok: false, error: withReason(asAppError(cause)) })
  },
})
