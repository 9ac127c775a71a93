// A job that waits for a person: its first run files what it would do, and the run after the decision does exactly that.
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
  /** Who holds the job. */
  readonly node: string
  /** Who is asked for approval of gated jobs; undefined where no plugin keeps approvals. */
  keeper(): Gatekeeper | undefined
}

export type JobGateState =
  /** Nobody needs to be asked. */
  | { readonly kind: "open" }
  /** What it would do is staged as an approval, and the job waits for the decision. */
  | { readonly kind: "filed"; readonly milliseconds: number }
  | { readonly kind: "approved"; readonly payload: Json; readonly done: Done }
  | { readonly kind: "refused"; readonly error: AppError }

/** Stages how an approved job ended. */
export type Done = (work: UnitOfWork, receipt: Receipt) => Promise<void>

/** Where the job stands before its gate. Throws Postponed where nobody has decided yet. */
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

/** Stages the approval, and that the job waits for it. Returns for how long at most. */
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
  // Not where another node has claimed it since: that one files.
  work.in(JobCollection).update(doc.id, { $set: { approval_id, run_at: filed.expires_at, held_by: "" } }, { where: { held_by: node } })
  return Date.parse(filed.expires_at) - clock.now()
}

/** What a job with a gate is refused with that belongs to nobody. */
export function withoutOrganization(type: string): string {
  return `The job ${type} has a gate, and nobody to ask: give it the organization that it works for.`
}
