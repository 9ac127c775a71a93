// A job that needs approval. Its first run files the planned effect. The run after the decision performs exactly this effect.
import type { Json } from "../contract/collection.ts"
import { type Gatekeeper, type JobGate, notApproved, type Receipt, withReason } from "../contract/gate.ts"
import { type AnyJob, Postponed } from "../contract/job.ts"
import type { UnitOfWork } from "../contract/unit-of-work.ts"
import type { Clock } from "../kernel/clock.ts"
import { AppError } from "../kernel/errors.ts"
import type { Ids } from "../kernel/ids.ts"
import { JobCollection, type JobDocument } from "./jobs-collection.ts"

export interface JobGating {
  readonly clock: Clock
  readonly ids: Ids
  /** The node with the job. */
  readonly node: string
  /** Returns the gatekeeper of gated jobs. Undefined if no plugin stores approvals. */
  keeper(): Gatekeeper | undefined
}

export type JobGateState =
  /** No approval is needed. */
  | { readonly kind: "open" }
  /** The planned effect is staged as an approval, and the job waits for the decision. */
  | { readonly kind: "filed"; readonly milliseconds: number }
  | { readonly kind: "approved"; readonly payload: Json; readonly done: Done }
  | { readonly kind: "refused"; readonly error: AppError }

/** Stages the result of an approved job. */
export type Done = (work: UnitOfWork, receipt: Receipt) => Promise<void>

/** Returns the state of the job's gate. Throws Postponed while the decision is pending. */
export async function jobGateState(gating: JobGating, doc: JobDocument, job: AnyJob, work: UnitOfWork): Promise<JobGateState> {
  const { gate } = job
  if (!gate) return { kind: "open" }
  const keeper = gating.keeper()
  const { organization, approval_id: approvalId } = doc
  if (!keeper || organization === null) {
    const message = `The job ${doc.type} needs approval where an organization asks for it, and no plugin that keeps approvals is loaded.`
    throw new AppError("failed_precondition", message, { reason: "approvals_not_loaded", retryable: false })
  }
  if (approvalId === undefined) {
    if (!(await keeper.holds(organization, gate.name))) return { kind: "open" }
    return { kind: "filed", milliseconds: file(gating, { ...doc, organization }, { job, gate, keeper, work }) }
  }
  const decision = await keeper.decision(organization, approvalId)
  if (decision.state === "pending") throw new Postponed(Math.max(1_000, Date.parse(decision.expires_at) - gating.clock.now()))
  const done: Done = (end, receipt) => keeper.complete(end, organization, approvalId, receipt)
  if (decision.state === "approved") return { kind: "approved", payload: decision.input, done }
  const error = notApproved(decision, approvalId)
  if (decision.state === "revoked") await done(work, { ok: false, error: withReason(error) })
  return { kind: "refused", error }
}

/** Stages the approval and the job's wait for it. Returns the maximum wait in milliseconds. */
function file(
  { clock, ids, node }: JobGating,
  doc: JobDocument & { organization: string },
  { job, gate, keeper, work }: { job: AnyJob; gate: JobGate<unknown>; keeper: Gatekeeper; work: UnitOfWork },
): number {
  const approval_id = ids.uuid()
  const filed = keeper.file(work, doc.organization, approval_id, {
    gate: { name: gate.name, risk: gate.risk, summary: gate.summary },
    subject: { kind: "job", name: doc.type },
    what: gate.what(job.payload.parse(doc.payload)),
    why: `The job ${doc.id}, asked for at ${doc.created_at}.`,
    requester: doc.requester ?? { credential_id: null, user_id: null, surface: "internal" },
    input: doc.payload,
    job: doc.id,
  })
  // Skipped if another node has claimed the job since. That node files the approval.
  work.in(JobCollection).update(doc.id, { $set: { approval_id, run_at: filed.expires_at, held_by: "" } }, { where: { held_by: node } })
  return Date.parse(filed.expires_at) - clock.now()
}

/** Returns the error message of a gated job without an organization. */
export function withoutOrganization(type: string): string {
  return `The job ${type} has a gate, and nobody to ask: give it the organization that it works for.`
}
