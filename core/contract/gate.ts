// What a person may have to allow before it happens: an operation or a job that declares a gate, and a step that is written
// with one. Which gates hold in an organization is its own choice; the plugin that fills `Gatekeeper` keeps what waits.
import { token } from "../kernel/di.ts"
import { AppError } from "../kernel/errors.ts"
import type { Caller, Role, Surface } from "./caller.ts"
import type { Json } from "./collection.ts"
import type { UnitOfWork } from "./unit-of-work.ts"

/** How much harm an action may do, least first. */
export const risks = ["low", "medium", "high"] as const
/** How much harm is done where it was wrong. */
export type Risk = (typeof risks)[number]

/** A kind of thing that an organization can ask approval for. */
export interface Gate {
  /** `<area>.<what>` in snake case, or the type of an action. */
  readonly name: string
  readonly risk: Risk
  readonly summary: string
}

/** The gate of an operation: where the organization asks for approval a call waits, else it goes on. */
export interface OperationGate<I, O> extends Gate {
  /** What the call would do, in a sentence for the person who decides. */
  what(input: I): string
  /** Who the call reaches beside its input, such as a connection with its revision and host. The call is refused if it changed since. */
  target?(input: I, args: { readonly organization: string; readonly deps: Record<string, unknown> }): Promise<Json>
  /** Fields that hold the text of a mail or message. The person who approves a call reads them in full. */
  readonly contents?: readonly string[]
  /** The answer of a call that waits. */
  pending(filed: FiledApproval): O
}

/** The gate of a job: where the organization asks for approval a run waits, else it goes on. */
export interface JobGate<P> extends Gate {
  /** What a run would do, in a sentence for the person who decides. */
  what(payload: P): string
}

/** Who asks. */
export interface Requester {
  /** Null where a pipeline or the service itself asks. */
  readonly credential_id: string | null
  readonly user_id: string | null
  /** The managing organization that the credential depends on. Absent in older approvals. */
  readonly manager_id?: string | null
  readonly surface: Surface
}

/** Returns the caller as the one who asks for approval. */
export function requesterOf({ credential, user, link, surface }: Caller): Requester {
  return { credential_id: credential.id, user_id: user?.id ?? null, manager_id: link?.manager_id ?? null, surface }
}

/** What waits for a decision. */
export interface HeldWork {
  readonly gate: Gate
  readonly subject: { readonly kind: "operation" | "step" | "job"; readonly name: string }
  /** What would be done, in a sentence. */
  readonly what: string
  /** Why it is asked for, such as the pipeline and the event; empty where nobody said. */
  readonly why: string
  readonly requester: Requester
  /** Exactly what would be done. */
  readonly input: Json
  /** Who it reaches beside the input; see `Action`. */
  readonly target?: Json
  readonly contents?: readonly string[]
  /** Id of the queued job that goes on after the decision; it is made due then. */
  readonly job: string
}

/** An approval that was filed for held work. */
export interface FiledApproval {
  readonly id: string
  /** Of the input: the same on the card, the job and the receipt. */
  readonly digest: string
  readonly what: string
  /** RFC 3339. */
  readonly expires_at: string
}

/** What a gate decides of an action. */
export type Decision =
  | { readonly state: "pending"; readonly expires_at: string }
  /** `role`: the most that who asked may still do; undefined where nobody did. */
  | { readonly state: "approved"; readonly input: Json; readonly target: Json; readonly digest: string; readonly role?: Role }
  /** `revoked`: approved, but who asked may not ask any longer. */
  | { readonly state: "rejected" | "expired" | "revoked"; readonly note: string }

/** How approved work ended. */
export type Receipt = { readonly ok: true; readonly result: Json } | { readonly ok: false; readonly error: Failure }

/** Why work that was let go failed, as its approval shows it. */
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

/** What held work fails with that was not approved, or may not be carried out any longer. */
export function notApproved({ state, note }: Extract<Decision, { note: string }>, approval_id: string): AppError {
  const { reason, verb } = refusals[state]
  const message = `The approval ${verb}${note === "" ? "" : ` ${note}`}`
  return new AppError("failed_precondition", message, { reason, approval_id, retryable: false })
}

/** Refuses approved work whose target is another now. Retrying cannot help. */
export function targetChanged(approval_id: string, target: Json): AppError {
  const message = `The target changed after approval was asked for; it was ${JSON.stringify(target)}. Ask again for approval.`
  return new AppError("failed_precondition", message, { reason: "target_changed", approval_id, retryable: false })
}

/** Keeps what waits, and tells how it was decided. */
export interface Gatekeeper {
  /** Whether the organization asks for approval at this gate. */
  holds(organization: string, gate: string): Promise<boolean>
  /** Stages an approval under this id. */
  file(work: UnitOfWork, organization: string, id: string, held: HeldWork): FiledApproval
  /** Throws `not_found` for an unknown id, `data_loss` where what is kept is not what was approved. */
  decision(organization: string, id: string): Promise<Decision>
  /** Stages how it ended. */
  complete(work: UnitOfWork, organization: string, id: string, receipt: Receipt): Promise<void>
  /** Stages why what the job still had to do, decided or not, is not done any longer. */
  abandon(work: UnitOfWork, organization: string, job: string, error: Failure): Promise<void>
}

export const Gatekeeper = token<Gatekeeper>("Gatekeeper")

/** An error as a receipt keeps it. */
export function withReason({ code, message, details }: AppError): Failure {
  return { code, message, reason: details.reason }
}
