// The service behind gates: files requests, reports their decisions, and records their outcomes.
import { createHmac, randomBytes } from "node:crypto"
import { isDeepStrictEqual } from "node:util"
import { z } from "zod"
import {
  AppError,
  Clock,
  changesOf,
  type Deps,
  defineChannel,
  derivedUuid,
  type FieldsOf,
  type Filter,
  JobQueue,
  type Json,
  jobRef,
  Live,
  roleAtLeast,
  Store,
  sameBytes,
  timestamp,
  type UnitOfWork,
  Vault,
} from "#core"
import {
  canonicalJson,
  type Decision,
  type Failure,
  type FiledApproval,
  type Gatekeeper,
  type HeldWork,
  type Receipt,
  redactSecrets,
} from "#core/engine"
import { AutonomyGates } from "../autonomy/index.ts"
import { ApiKeys, type CurrentReach, findPrincipal, Principals } from "../organizations/index.ts"
import { ApprovalCollection, type ApprovalState, digestKeyContext, refuseHalves, type StoredApproval, sealContext } from "./collections.ts"
import { stageNotice } from "./notice.ts"
import { redactInput } from "./shown-input.ts"

export const approvalsChannel = defineChannel({
  name: "approvals",
  scope: "approvals:read",
  summary: "Approvals as they are filed, decided, expire and are carried out.",
})

/** The job for the expiry of an undecided approval. */
export const expireJobRef = jobRef("approvals.expire", z.object({ organization: z.string(), approval_id: z.string() }))

const digestKeyBytes = 32

export interface ApprovalServices extends Deps<typeof Approvals.inject> {
  readonly expireMs: number
  /** Time from the expiry of an approval to its removal, including its input. */
  readonly keepMs: number
}

export interface Verdict {
  readonly by: { credential_id: string; user_id: string | null }
  readonly note: string
  readonly state: "approved" | "rejected"
  /** Replaces the requested input. */
  readonly edited?: Json
}

export class Approvals implements Gatekeeper {
  static readonly inject = {
    store: Store,
    clock: Clock,
    vault: Vault,
    live: Live,
    queue: JobQueue,
    gates: AutonomyGates,
    apiKeys: ApiKeys,
    principals: Principals,
  }
  readonly #services: ApprovalServices

  constructor(services: ApprovalServices) {
    this.#services = services
  }

  holds(organization: string, gate: string): Promise<boolean> {
    return this.#services.gates.holds(organization, gate)
  }

  file(work: UnitOfWork, organization: string, id: string, heldWork: HeldWork): FiledApproval {
    const now = this.#services.clock.now()
    const expiresAt = now + this.#services.expireMs
    const { gate, input, target = null, contents = [], ...request } = heldWork
    refuseHalves(input)
    const key = randomBytes(digestKeyBytes)
    const approval: StoredApproval = {
      ...request,
      ...this.#digestInput({ id, target, contents: [...contents] }, input, key),
      target,
      contents: [...contents],
      digest_key: { sealed: this.#services.vault.seal(key.toString("base64"), digestKeyContext(id)) },
      id,
      state: "pending",
      gate: gate.name,
      risk: gate.risk,
      asked_digest: null,
      decided_by: null,
      decided_at: null,
      note: "",
      receipt: null,
      created_at: timestamp(now),
      expires_at: timestamp(expiresAt),
      removed_at: timestamp(expiresAt + this.#services.keepMs),
    }
    work.in(ApprovalCollection, organization).insert(approval, { ifPresent: "keep" })
    const payload = { organization, approval_id: id }
    this.#services.queue.enqueue(work, expireJobRef, payload, { organization, id: expiryOf(id), runAt: expiresAt })
    stageNotice(work, this.#services.queue, organization, now)
    this.#tell(work, organization, approval, "filed")
    return { id, digest: approval.digest, what: approval.what, expires_at: approval.expires_at }
  }

  async decision(organization: string, id: string): Promise<Decision> {
    const approval = await this.require(organization, id)
    const state = this.stateOf(approval)
    if (state === "pending") return { state, expires_at: approval.expires_at }
    if (state === "rejected" || state === "expired") return { state, note: approval.note || (approval.receipt?.error?.message ?? "") }
    const input = this.inputOf(approval)
    if (!sameBytes(digestOf({ input, target: approval.target }, this.#digestKey(approval)), approval.digest)) {
      throw new AppError("data_loss", `What is kept of the approval ${id} is not what was approved; it is not carried out.`, {
        reason: "approval_damaged",
        retryable: false,
      })
    }
    const reach = await this.#requesterReach(organization, approval)
    if (reach && reach.role === undefined) return { state: "revoked", note: reach.lost }
    return {
      state: "approved",
      input,
      target: approval.target ?? null,
      digest: approval.digest,
      ...(reach ? { role: reach.role } : {}),
    }
  }

  /** Undefined for requests of a pipeline or the service itself. */
  async #requesterReach(organization: string, { requester, subject }: StoredApproval): Promise<CurrentReach | undefined> {
    const { apiKeys, principals } = this.#services
    const credentialId = requester.credential_id
    if (credentialId === null) return undefined
    const principal = await findPrincipal(principals, organization, credentialId)
    if (!principal) return await apiKeys.currentReach(organization, { ...requester, credential_id: credentialId })
    if (!principal.mayCall(subject.name))
      return { role: undefined, lost: `The heartbeat that asked for it may not call ${subject.name} any longer.` }
    const maker = principal.maker && (await apiKeys.currentReach(organization, principal.maker))
    if (!maker || (maker.role !== undefined && roleAtLeast(maker.role, principal.role))) return { role: principal.role }
    return maker
  }

  async complete(work: UnitOfWork, organization: string, id: string, receipt: Receipt): Promise<void> {
    const approval = await this.require(organization, id)
    const state: ApprovalState = receipt.ok ? "done" : "failed"
    // An approval is carried out once: the commit of a second run is refused.
    const where = { state: { $in: ["approved", "failed"] } }
    this.#end(work, organization, approval, state, { receipt, where })
  }

  async abandon(work: UnitOfWork, organization: string, job: string, error: Failure): Promise<void> {
    const approvals = await this.#services.store
      .open(ApprovalCollection, organization)
      .find({ job, state: { $in: ["pending", "approved"] } })
    for (const approval of approvals) {
      // An undecided approval never counts as decided, even if its job is retried.
      const state = approval.state === "pending" ? "expired" : "failed"
      this.#end(work, organization, approval, state, { receipt: { ok: false, error }, where: { state: approval.state } })
    }
  }

  #end(
    work: UnitOfWork,
    organization: string,
    approval: StoredApproval,
    state: ApprovalState,
    { receipt, where }: { receipt: Receipt; where: Filter },
  ): void {
    const at = timestamp(this.#services.clock.now())
    const outcome = receipt.ok
      ? { result: redactSecrets(receipt.result), error: null }
      : { result: null, error: { ...receipt.error, reason: receipt.error.reason ?? null } }
    work
      .in(ApprovalCollection, organization)
      .update(approval.id, { $set: { state, receipt: { at, digest: approval.digest, ok: receipt.ok, ...outcome } } }, { where })
    this.#tell(work, organization, { ...approval, state }, state)
  }

  /** Stages a decision on a pending approval and makes its waiting job due. */
  decide(work: UnitOfWork, organization: string, approval: StoredApproval, { by, note, state, edited }: Verdict): StoredApproval {
    const changed: Partial<FieldsOf<StoredApproval>> = {
      state,
      note,
      decided_by: by,
      decided_at: timestamp(this.#services.clock.now()),
      ...(edited === undefined ? {} : { ...this.#digestInput(approval, edited, this.#digestKey(approval)), asked_digest: approval.digest }),
    }
    work.in(ApprovalCollection, organization).update(approval.id, { $set: changesOf(changed) }, { where: { state: "pending" } })
    return this.#releaseJob(work, organization, { ...approval, ...changed })
  }

  /** Stages a rejection by the service itself. An earlier committed decision stays. */
  reject(work: UnitOfWork, organization: string, approval: StoredApproval, note: string): void {
    const changed = { state: "rejected" as const, note, decided_at: timestamp(this.#services.clock.now()) }
    work.in(ApprovalCollection, organization).update(approval.id, { $set: changed }, { where: { state: "pending" }, optional: true })
    this.#releaseJob(work, organization, { ...approval, ...changed })
  }

  #releaseJob(work: UnitOfWork, organization: string, approval: StoredApproval): StoredApproval {
    this.#services.queue.hasten(work, approval.job)
    // The expiry job finds a decided approval and ends.
    this.#services.queue.hasten(work, expiryOf(approval.id))
    this.#tell(work, organization, approval, approval.state)
    return approval
  }

  /** Stages the expiry of the approval. */
  expire(work: UnitOfWork, organization: string, approval: StoredApproval): void {
    work.in(ApprovalCollection, organization).update(approval.id, { $set: { state: "expired" } }, { where: { state: "pending" } })
    this.#services.queue.hasten(work, approval.job)
    this.#tell(work, organization, { ...approval, state: "expired" }, "expired")
  }

  /** Returns undefined for an unknown or removed approval. */
  find(organization: string, id: string): Promise<StoredApproval | undefined> {
    return this.#services.store.open(ApprovalCollection, organization).get(id)
  }

  async require(organization: string, id: string): Promise<StoredApproval> {
    const approval = await this.find(organization, id)
    if (!approval) throw new AppError("not_found", `No approval has the id ${id}.`, { reason: "approval_not_found" })
    return approval
  }

  /** A pending approval counts as expired at its expiry, before the expiry is stored. */
  stateOf({ state, expires_at }: StoredApproval): ApprovalState {
    return state === "pending" && Date.parse(expires_at) <= this.#services.clock.now() ? "expired" : state
  }

  /** Returns the filter for approvals with this current state. */
  filterOf(state: ApprovalState | undefined): Filter {
    if (state !== "pending" && state !== "expired") return state === undefined ? {} : { state }
    const now = timestamp(this.#services.clock.now())
    if (state === "pending") return { state, expires_at: { $gt: now } }
    return { $or: [{ state }, { state: "pending", expires_at: { $lte: now } }] }
  }

  /** Returns the exact input. */
  inputOf({ id, input, sealed }: StoredApproval): Json {
    return sealed === null ? input : (JSON.parse(this.#services.vault.open(sealed, sealContext(id))) as Json)
  }

  #digestInput(
    { id, target, contents = [] }: Pick<StoredApproval, "id" | "target" | "contents">,
    exact: Json,
    key: Buffer,
  ): Pick<StoredApproval, "input" | "hidden" | "sealed" | "digest"> {
    const digest = digestOf({ input: exact, target }, key)
    const { input, hidden } = redactInput(exact, contents)
    if (isDeepStrictEqual(input, exact)) return { input: exact, hidden: [], sealed: null, digest }
    return { input, hidden, sealed: this.#services.vault.seal(JSON.stringify(exact), sealContext(id)), digest }
  }

  #digestKey({ id, digest_key }: StoredApproval): Buffer {
    return Buffer.from(this.#services.vault.open(digest_key.sealed, digestKeyContext(id)), "base64")
  }

  /** Publishes the change without the input. Readers fetch the input from the approval. */
  #tell(work: UnitOfWork, organization: string, { id, gate, risk, what, state }: StoredApproval, event: string): void {
    this.#services.live.stage(work, organization, { channel: approvalsChannel.name, event, data: { id, gate, risk, what, state } })
  }
}

/** Id of the expiry job. */
function expiryOf(approvalId: string): string {
  return derivedUuid(approvalId, "expires")
}

function digestOf({ input, target }: { input: Json; target: Json | undefined }, key: Buffer): string {
  const hash = createHmac("sha256", key).update(canonicalJson(input))
  if (target !== null && target !== undefined) hash.update("\n").update(canonicalJson(target))
  return hash.digest("hex")
}
