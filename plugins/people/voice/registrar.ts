// Advances a registration from the approval to the carrier's decision. Each answer is committed before the next call, so after a
// kill any node continues from there.
import { AppError, Clock, type Deps, type FieldsOf, PublicUrl, Store, timestamp, UnitsOfWork, Vault } from "#core"
import { Gatekeeper, type Receipt } from "#core/engine"
import { Integrations } from "../../agents/integrations/index.ts"
import { callbackUrl } from "./callback-url.ts"
import { Filing, type Progress, type Registration, RegistrationCollection } from "./collections.ts"
import { Registrations } from "./registrations.ts"
import type { VoiceSettings } from "./settings.ts"
import { HubRefusal, HubUnavailable, TrustHub } from "./trust-hub/client.ts"
import { statusOf } from "./trust-hub/status.ts"
import { NotCompliant, productOf, steps, submitted } from "./trust-hub/steps.ts"

export interface RegistrarDeps extends Deps<typeof Registrar.inject> {
  readonly settings: VoiceSettings
}

const firstWaitMs = 15_000
const maxWaitMs = 3_600_000

export class Registrar {
  static readonly inject = {
    store: Store,
    clock: Clock,
    works: UnitsOfWork,
    vault: Vault,
    publicUrl: PublicUrl,
    keeper: Gatekeeper,
    integrations: Integrations,
    registrations: Registrations,
  }
  readonly #deps: RegistrarDeps

  constructor(deps: RegistrarDeps) {
    this.#deps = deps
  }

  /** Takes all steps possible now. Resolves to the wait in milliseconds, or undefined at the end. */
  async advance(organization: string, id: string, signal: AbortSignal): Promise<number | undefined> {
    for (;;) {
      const registration = await this.#deps.store.open(RegistrationCollection, organization).get(id)
      if (!registration) return undefined
      if (registration.status === "pending_approval") {
        const wait = await this.#decided(organization, registration)
        if (wait !== undefined) return wait
        continue
      }
      if (registration.status === "rejected") return undefined
      const wait = await this.#answered(organization, registration, signal)
      if (wait !== "again") return wait
    }
  }

  /** Applies the approval's decision. Returns the wait if the decision is pending. */
  async #decided(organization: string, registration: Registration): Promise<number | undefined> {
    const decision = await this.#deps.keeper.decision(organization, registration.approval_id)
    if (decision.state === "pending") return Math.max(1_000, Date.parse(decision.expires_at) - this.#deps.clock.now())
    if (decision.state === "approved") {
      const filing = Filing.safeParse(decision.input)
      if (filing.success) await this.#change(organization, registration, { ...filing.data, status: "approved" })
      else await this.#rejected(organization, registration, [{ code: "not_approved", message: "The edited input is not a caller name." }])
      return undefined
    }
    const message = `${unapproved[decision.state]} ${decision.note}`.trim()
    const error = { code: "failed_precondition", message, reason: "requester_revoked" }
    const change = { status: "rejected" as const, reasons: [{ code: "not_approved", message }] }
    await this.#change(organization, registration, change, decision.state === "revoked" ? { ok: false, error } : undefined)
    return undefined
  }

  /** Makes the next call. Returns `again` if another call follows at once. */
  async #answered(organization: string, registration: Registration, signal: AbortSignal): Promise<number | undefined | "again"> {
    const hub = new TrustHub({ ...this.#deps, organization, integrationId: registration.integration_id, signal })
    try {
      return registration.status === "approved"
        ? await this.#step(organization, registration, hub)
        : await this.#polled(organization, registration, hub)
    } catch (error) {
      if (error instanceof NotCompliant) await this.#rejected(organization, registration, error.reasons)
      else if (error instanceof HubRefusal) await this.#rejected(organization, registration, [{ code: error.code, message: error.message }])
      else if (error instanceof HubUnavailable) return this.#waited(organization, registration, error.message.slice(0, 1_000))
      else throw error
      return undefined
    }
  }

  async #step(organization: string, registration: Registration, hub: TrustHub): Promise<number | "again"> {
    const sids = registration.progress as Required<Progress>
    const step = steps.find(({ makes }) => sids[makes] === undefined)
    if (step) {
      const url = callbackUrl({ ...this.#deps, base: this.#deps.publicUrl() }, organization, registration.id)
      const made = await step.run({ hub, registration, sids, policySid: this.#deps.settings.cnam_policy_sid, callbackUrl: url })
      await this.#change(organization, registration, { progress: { ...sids, ...made }, tries: 0, last_error: "" })
      return "again"
    }
    const { status, reasons } = statusOf(await submitted({ hub, sids }))
    const at = timestamp(this.#deps.clock.now())
    const change = { status, reasons, submitted_at: at, checked_at: at, tries: 0, last_error: "" }
    const result = { registration_id: registration.id, trust_product_sid: sids.trust_product_sid, status }
    await this.#change(organization, registration, change, { ok: true, result })
    return firstWaitMs
  }

  /** Returns undefined after the carrier's decision. */
  async #polled(organization: string, registration: Registration, hub: TrustHub): Promise<number | undefined> {
    const { status, reasons } = statusOf(await hub.get(productOf(registration.progress as Required<Progress>)))
    const tries = status === registration.status ? registration.tries + 1 : 0
    const checked_at = timestamp(this.#deps.clock.now())
    await this.#change(organization, registration, { status, reasons, tries, checked_at, last_error: "" })
    return status === "active" || status === "rejected" ? undefined : waitAfter(tries)
  }

  async #waited(organization: string, registration: Registration, last_error: string): Promise<number> {
    const tries = registration.tries + 1
    await this.#change(organization, registration, { tries, last_error })
    return waitAfter(tries)
  }

  /** Stores the rejection. Before a submission, also puts it on the approval's receipt. */
  async #rejected(organization: string, registration: Registration, reasons: Registration["reasons"]): Promise<void> {
    const message = reasons.map((reason) => `${reason.code}: ${reason.message}`).join(" ")
    const error = { code: "failed_precondition", message, reason: "caller_name_rejected" }
    const change = { status: "rejected" as const, reasons, last_error: "" }
    await this.#change(organization, registration, change, registration.submitted_at === null ? { ok: false, error } : undefined)
  }

  async #change(
    organization: string,
    registration: Registration,
    change: Partial<FieldsOf<Registration>>,
    receipt?: Receipt,
  ): Promise<void> {
    const { works, keeper, registrations } = this.#deps
    await works.retryConflicts(async (work) => {
      const now = await registrations.get(organization, registration.id)
      // Another run of the job has made progress.
      if (now?.status !== registration.status) return
      registrations.change(work, organization, now, change)
      // Approvals and their receipts are removed some weeks after the deadline.
      if (receipt) await keeper.complete(work, organization, registration.approval_id, receipt).catch(unlessGone)
    })
  }
}

const unapproved = {
  rejected: "A person rejected it.",
  expired: "Nobody approved it in time.",
  revoked: "It was approved, but who asked may not ask any longer.",
} as const

function unlessGone(error: unknown): void {
  if (!(error instanceof AppError) || error.code !== "not_found") throw error
}

/** Grows from 15 seconds to an hour. */
function waitAfter(tries: number): number {
  return Math.min(maxWaitMs, firstWaitMs * 2 ** Math.min(tries, 10))
}
