// Files registrations of caller names: the data to approve, and the single registration in progress.
import {
  AppError,
  type Caller,
  Clock,
  changesOf,
  type Deps,
  derivedUuid,
  type FieldsOf,
  Ids,
  JobQueue,
  Live,
  Store,
  timestamp,
  type UnitOfWork,
} from "#core"
import { Gatekeeper, requesterOf } from "#core/engine"
import { Integrations } from "../../agents/integrations/index.ts"
import { requireCallerName, requireCallerNumber } from "./caller-name.ts"
import { voiceChannel } from "./channel.ts"
import {
  type CallerName,
  CallerNameCollection,
  callerNameId,
  type Filing,
  type Registration,
  RegistrationCollection,
  registerRef,
} from "./collections.ts"

/** A registration always requires a person's approval. */
export const callerNameGate = { name: "voice.caller_name", risk: "high", summary: "Registering a caller name with carriers." } as const

export type RegistrationDeps = Deps<typeof Registrations.inject>

export type CallerNameChange = Pick<CallerName, "name" | "phone_number" | "integration" | "email" | "customer_profile_sid">

/** Returns the id of a registration's job. */
export function jobOf(registrationId: string): string {
  return derivedUuid(registrationId, "register")
}

export class Registrations {
  static readonly inject = {
    store: Store,
    clock: Clock,
    ids: Ids,
    queue: JobQueue,
    live: Live,
    keeper: Gatekeeper,
    integrations: Integrations,
  }
  readonly #deps: RegistrationDeps

  constructor(deps: RegistrationDeps) {
    this.#deps = deps
  }

  wanted(organization: string): Promise<CallerName | undefined> {
    return this.#deps.store.open(CallerNameCollection, organization).get(callerNameId(organization))
  }

  async current(organization: string, wanted: CallerName | undefined): Promise<Registration | undefined> {
    return wanted?.registration_id ? this.get(organization, wanted.registration_id) : undefined
  }

  get(organization: string, id: string): Promise<Registration | undefined> {
    return this.#deps.store.open(RegistrationCollection, organization).get(id)
  }

  /** Stages the requested name without filing a registration. */
  want(work: UnitOfWork, organization: string, before: CallerName | undefined, given: CallerNameChange): CallerName {
    if (given.name !== "") requireCallerName(given.name)
    const change = { ...given, phone_number: given.phone_number === "" ? "" : requireCallerNumber(given.phone_number) }
    const at = timestamp(this.#deps.clock.now())
    if (before) return this.#changeWanted(work, organization, before, { ...change, updated_at: at })
    const id = callerNameId(organization)
    const wanted: CallerName = { ...change, id, registration_id: null, revision: 1, created_at: at, updated_at: at }
    work.in(CallerNameCollection, organization).insert(wanted)
    return wanted
  }

  /**
   * Returns the registration of the requested name: the current or finished registration, else a new registration filed for
   * approval.
   */
  async provision(work: UnitOfWork, caller: Caller): Promise<Registration> {
    const { clock, ids, queue, keeper } = this.#deps
    const organization = caller.organization.id
    const wanted = await this.wanted(organization)
    if (!wanted?.phone_number || !wanted.email) {
      const message = "The number and the email address of a caller name are not set; set them by PUT /v1/voice/caller-name."
      throw new AppError("failed_precondition", message, {
        reason: "caller_name_not_set",
      })
    }
    const filing = await this.#filingOf(caller, wanted)
    const current = await this.current(organization, wanted)
    if (current && current.status !== "rejected") {
      if (isSame(current, filing)) return current
      if (current.status !== "active") throw inProgress(current)
    }
    const id = ids.uuid()
    const approval_id = derivedUuid(id, "approval")
    const job = jobOf(id)
    const filed = keeper.file(work, organization, approval_id, {
      gate: callerNameGate,
      subject: { kind: "operation", name: "voice.provision_caller_name" },
      what: whatOf(filing),
      why: "",
      requester: requesterOf(caller),
      input: filing,
      job,
    })
    const at = timestamp(clock.now())
    const made: Registration = {
      ...filing,
      id,
      status: "pending_approval",
      approval_id,
      progress: {},
      reasons: [],
      tries: 0,
      last_error: "",
      submitted_at: null,
      checked_at: null,
      revision: 1,
      created_at: at,
      updated_at: at,
    }
    work.in(RegistrationCollection, organization).insert(made)
    this.#changeWanted(work, organization, wanted, { registration_id: id })
    queue.enqueue(work, registerRef, { organization, registration_id: id }, { organization, id: job, runAt: Date.parse(filed.expires_at) })
    this.#tell(work, organization, made)
    return made
  }

  /** Stages a change against the registration as read. A concurrent change makes the commit `aborted`. */
  change(work: UnitOfWork, organization: string, before: Registration, change: Partial<FieldsOf<Registration>>): Registration {
    const updated_at = timestamp(this.#deps.clock.now())
    const after: Registration = { ...before, ...change, updated_at, revision: before.revision + 1 }
    const $set = changesOf({ ...change, updated_at, revision: after.revision })
    work.in(RegistrationCollection, organization).update(before.id, { $set }, { where: { revision: before.revision } })
    if (after.status !== before.status) this.#tell(work, organization, after)
    return after
  }

  async #filingOf(caller: Caller, wanted: CallerName): Promise<Filing> {
    const name = wanted.name === "" ? caller.organization.name : wanted.name
    requireCallerName(name)
    const { phone_number, email, customer_profile_sid, integration } = wanted
    const connection = await this.#deps.integrations.find(caller.organization.id, integration)
    if (connection?.app === "twilio") return { name, phone_number, integration_id: connection.id, email, customer_profile_sid }
    const message = connection
      ? `The integration "${integration}" is of the app ${connection.app}, not twilio; name another by PUT /v1/voice/caller-name.`
      : `No integration "${integration}" is connected and shared; connect one: integrations.connect with app twilio and share_with_org.`
    throw new AppError("failed_precondition", message, { reason: "twilio_not_connected" })
  }

  #changeWanted(work: UnitOfWork, organization: string, before: CallerName, change: Partial<FieldsOf<CallerName>>): CallerName {
    const revision = before.revision + 1
    const $set = changesOf({ ...change, revision })
    work.in(CallerNameCollection, organization).update(before.id, { $set }, { where: { revision: before.revision } })
    return { ...before, ...change, revision }
  }

  #tell(work: UnitOfWork, organization: string, { id, name, phone_number, status, reasons }: Registration): void {
    const data = { registration_id: id, name, phone_number, status, reasons: reasons.map((reason) => ({ ...reason })) }
    this.#deps.live.stage(work, organization, { channel: voiceChannel.name, event: status, data })
  }
}

/** Returns a description of the registration for the approver. */
export function whatOf({ name, phone_number }: Pick<Filing, "name" | "phone_number">): string {
  return `Register the caller name "${name}" for ${phone_number} with carriers, through Twilio.`
}

function isSame(one: Filing, other: Filing): boolean {
  return (["name", "phone_number", "integration_id", "customer_profile_sid"] as const).every((field) => one[field] === other[field])
}

function inProgress({ name, phone_number, status, approval_id }: Registration): AppError {
  const what = status === "pending_approval" ? `waits for approval ${approval_id}` : `is ${status}`
  return new AppError("failed_precondition", `The caller name "${name}" of ${phone_number} ${what}; only one is registered at a time.`, {
    reason: "caller_name_in_progress",
  })
}
