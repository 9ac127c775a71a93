// Approval by a person before an action: for operations and jobs with a gate, and for steps with `gate: true`. Each organization
// chooses its active gates. The plugin behind `Gatekeeper` stores pending approvals.
import { token } from "../kernel/di.ts"
import { AppError } from "../kernel/errors.ts"
import type { Caller, Role, Surface } from "./caller.ts"
import type { Json } from "./collection.ts"
import type { UnitOfWork } from "./unit-of-work.ts"

/** The harm of a wrong action, least first. */
export const risks = ["low", "medium", "high"] as const
/** The harm of a wrong action. */
export type Risk = (typeof risks)[number]

/** A class of actions that an organization can place under approval. */
export interface Gate {
  /** `<area>.<what>` in snake case, or an action type. */
  readonly name: string
  readonly risk: Risk
  readonly summary: string
}

/** The gate of an operation. If the organization asks for approval, the call waits. Otherwise it runs at once. */
export interface OperationGate<I, O> extends Gate {
  /** Describes the effect of the call, in a sentence for the person who decides. */
  what(input: I): string
  /**
   * Returns the call's target outside its input, such as a connection with its revision and host. A call with a changed target is
   * refused.
   */
  target?(input: I, args: { readonly organization: string; readonly deps: Record<string, unknown> }): Promise<Json>
  /** Fields with the text of a mail or message. The person who approves a call reads these fields in full. */
  readonly contents?: readonly string[]
  /** Returns the answer of a pending call. */
  pending(filed: FiledApproval): O
}

/** The gate of a job. If the organization asks for approval, a run waits. Otherwise it runs at once. */
export interface JobGate<P> extends Gate {
  /** Describes the effect of a run, in a sentence for the person who decides. */
  what(payload: P): string
}

/** The caller behind a request for approval. */
export interface Requester {
  /** Null if a pipeline or the service itself asks. */
  readonly credential_id: string | null
  readonly user_id: string | null
  /** The managing organization that the credential depends on. Absent in older approvals. */
  readonly manager_id?: string | null
  readonly surface: Surface
}

/** Returns the caller as a requester of approval. */
export function requesterOf({ credential, user, link, surface }: Caller): Requester {
  return { credential_id: credential.id, user_id: user?.id ?? null, manager_id: link?.manager_id ?? null, surface }
}

/** Work that waits for a decision. */
export interface HeldWork {
  readonly gate: Gate
  readonly subject: { readonly kind: "operation" | "step" | "job"; readonly name: string }
  /** The planned effect, in a sentence. */
  readonly what: string
  /** The cause of the request, such as the pipeline and the event. Empty if unknown. */
  readonly why: string
  readonly requester: Requester
  /** The exact input of the work. */
  readonly input: Json
  /** The target outside the input; see `Action`. */
  readonly target?: Json
  readonly contents?: readonly string[]
  /** Id of the queued job that continues after the decision. The decision makes the job due. */
  readonly job: string
}

/** An approval that was filed for held work. */
export interface FiledApproval {
  readonly id: string
  /** Digest of the input. The card, the job and the receipt have the same digest. */
  readonly digest: string
  readonly what: string
  /** RFC 3339. */
  readonly expires_at: string
}

/** The state of an approval. */
export type Decision =
  | { readonly state: "pending"; readonly expires_at: string }
  /** `role`: the requester's highest remaining role. Undefined without a requester. */
  | { readonly state: "approved"; readonly input: Json; readonly target: Json; readonly digest: string; readonly role?: Role }
  /** `revoked`: approved, but the requester has lost the right to ask. */
  | { readonly state: "rejected" | "expired" | "revoked"; readonly note: string }

/** The result of approved work. */
export type Receipt = { readonly ok: true; readonly result: Json } | { readonly ok: false; readonly error: Failure }

/** The failure of approved work, as shown in its approval. */
export interface Failure {
  readonly code: string
  readonly message: string
  readonly reason: string | undefined
}

const refusals = {
  rejected: { reason: "approval_rejected", verb: "was rejected." },
  expired: { reason: "approval_expired", verb: "expired before anybody decided." },
  revoked: { reason: "requester_revoked", verb: "is not carried out:" },
} as const

/** Returns the error of held work that was rejected, expired or revoked. */
export function notApproved({ state, note }: Extract<Decision, { note: string }>, approval_id: string): AppError {
  const { reason, verb } = refusals[state]
  const message = `The approval ${verb}${note === "" ? "" : ` ${note}`}`
  return new AppError("failed_precondition", message, { reason, approval_id, retryable: false })
}

/** Refuses approved work with a changed target. A retry cannot help. */
export function targetChanged(approval_id: string, target: Json): AppError {
  const message = `The target changed after approval was asked for; it was ${JSON.stringify(target)}. Ask again for approval.`
  return new AppError("failed_precondition", message, { reason: "target_changed", approval_id, retryable: false })
}

/** Stores pending approvals and returns their decisions. */
export interface Gatekeeper {
  /** Returns true if the organization asks for approval at this gate. */
  holds(organization: string, gate: string): Promise<boolean>
  /** Stages an approval under this id. */
  file(work: UnitOfWork, organization: string, id: string, held: HeldWork): FiledApproval
  /** Throws `not_found` for an unknown id, and `data_loss` if the stored input differs from the approved input. */
  decision(organization: string, id: string): Promise<Decision>
  /** Stages the result of the approved work. */
  complete(work: UnitOfWork, organization: string, id: string, receipt: Receipt): Promise<void>
  /** Stages the reason for dropping the job's remaining approvals, decided or not. */
  abandon(work: UnitOfWork, organization: string, job: string, error: Failure): Promise<void>
}

export const Gatekeeper = token<Gatekeeper>("Gatekeeper")

/** Returns an error as stored in a receipt. */
export function withReason({ code, message, details }: AppError): Failure {
  return { code, message, reason: details.reason }
}
