// Calls with required approval. The call is filed first; a job performs it after the approval.
import { isDeepStrictEqual } from "node:util"
import { z } from "zod"
import { type Caller, roles } from "../../contract/caller.ts"
import type { Json } from "../../contract/collection.ts"
import { type FiledApproval, type Gatekeeper, requesterOf } from "../../contract/gate.ts"
import { type JobQueue, jobRef } from "../../contract/job.ts"
import type { AnyOperation } from "../../contract/operation.ts"
import type { UnitOfWork } from "../../contract/unit-of-work.ts"
import { AppError } from "../../kernel/errors.ts"
import { derivedUuid } from "../../kernel/ids.ts"
import { pathParameters } from "./audit.ts"
import { parseInput } from "./parse-input.ts"

/** The job of a call with required approval. `core/surface/approved-call.ts` runs it. */
export const approvedCallJob = jobRef(
  "operation.approved",
  z.object({
    operation: z.string(),
    approval_id: z.string(),
    /** The caller with the rights at the time of the call. */
    caller: z.object({
      organization: z.object({ id: z.string(), slug: z.string(), name: z.string() }),
      role: z.enum(roles),
      manager: z.object({ id: z.string(), slug: z.string(), name: z.string() }).nullish(),
      credential: z.object({ id: z.string(), manager: z.boolean() }),
      user: z.object({ id: z.string(), email: z.string(), staff: z.boolean() }).nullable(),
      request_id: z.string(),
    }),
  }),
  {
    timeoutMs: 900_000,
  },
)

/** Input for filing a call. */
export interface GatedCall {
  readonly operation: AnyOperation
  readonly caller: Caller
  readonly input: unknown
  /** Receives the approval under its own id. A client may reuse an idempotency key after its record expires. */
  readonly work: UnitOfWork
  /** Dependencies of the operation. */
  readonly deps: Record<string, unknown>
}

export interface Gating {
  readonly queue: JobQueue
  readonly keeper: Gatekeeper | undefined
}

export interface HeldCall {
  /** Response of the call. */
  readonly answer: Json
  readonly filed: FiledApproval
}

/** Returns the recipients of a gated call. Null if the input names them. */
export async function targetOf(
  { gate }: AnyOperation,
  input: unknown,
  args: { organization: string; deps: Record<string, unknown> },
): Promise<Json> {
  return (await gate?.target?.(input as never, args)) ?? null
}

/** Files a call with required approval. Returns undefined if the organization requires no approval. */
export async function heldBack(
  { operation, caller, input, work, deps }: GatedCall,
  gating: Gating | undefined,
): Promise<HeldCall | undefined> {
  const { gate } = operation
  if (!gate) return undefined
  const organization = caller.organization.id
  const keeper = gating?.keeper
  if (!gating || !keeper) {
    const message = `${operation.name} needs approval where an organization asks for it, and no plugin that keeps approvals is loaded.`
    throw new AppError("failed_precondition", message, { reason: "approvals_not_loaded" })
  }
  const { queue } = gating
  if (!(await keeper.holds(organization, gate.name))) return undefined
  // The job parses the stored input again.
  if (!isDeepStrictEqual(await parseInput(operation.input, input), input))
    throw new Error(`The input of ${operation.name} changes when it is parsed again, so that nobody could approve exactly what it does.`)
  const job = derivedUuid(work.id, "approved-call")
  const filed = keeper.file(work, organization, work.id, {
    gate: { name: gate.name, risk: gate.risk, summary: gate.summary },
    subject: { kind: "operation", name: operation.name },
    what: gate.what(input),
    why: "",
    requester: requesterOf(caller),
    input: input as Json,
    target: await targetOf(operation, input, { organization, deps }),
    contents: gate.contents ?? [],
    job,
  })
  const { id, manager } = caller.credential
  const payload = {
    operation: operation.name,
    approval_id: work.id,
    caller: {
      organization: caller.organization,
      role: caller.role,
      manager: caller.manager ?? null,
      credential: { id, manager },
      user: caller.user ?? null,
      request_id: caller.requestId,
    },
  }
  queue.enqueue(work, approvedCallJob, payload, { id: job, organization, runAt: Date.parse(filed.expires_at) })
  return { answer: gate.pending(filed) as Json, filed }
}

/** Returns the audited input of a filed call. The approval stores the full input and expires earlier. */
export function auditedOf({ http }: AnyOperation, input: unknown, { id, digest }: FiledApproval): Record<string, unknown> {
  const target = pathParameters(http.path).map((name) => [name, (input as Record<string, unknown>)[name]] as const)
  return { ...Object.fromEntries(target), approval_id: id, digest }
}
