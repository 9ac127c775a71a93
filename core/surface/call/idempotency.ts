// Implements Idempotency-Key. The first response of a changing call is stored for 24 h in the commit of the call, and repeats
// receive it.
import { createHmac } from "node:crypto"
import type { AnyCaller } from "../../contract/caller.ts"
import { type Document, defineCollection, type Json } from "../../contract/collection.ts"
import type { AnyOperation } from "../../contract/operation.ts"
import type { Filter, Store } from "../../contract/store.ts"
import { type StagedCollection, StagedWork, type UnitOfWork } from "../../contract/unit-of-work.ts"
import { type Clock, timestamp } from "../../kernel/clock.ts"
import { AppError } from "../../kernel/errors.ts"
import { derivedUuid, type Ids } from "../../kernel/ids.ts"
import { canonicalJson } from "../../kernel/json.ts"
import { requireOrganization } from "./authorise.ts"
import { without } from "./redact.ts"

export interface IdempotencyRecord extends Document {
  operation: string
  /** HMAC of the input. Without the key, a reader cannot confirm a guessed input. */
  input_digest: string
  status: number
  answer: Json
  /** Secret fields removed from the stored response. */
  omitted: string[]
  /** Random id of the call with the reservation or the response. */
  call: string
  /** Lease of a running call. Its node counts as dead after this time. */
  leased_until: string
  created_at: string
  expires_at: string
}

const recordFields = {
  times: ["leased_until", "created_at", "expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
} as const

/** Records for persons, with or without an organization. */
export const PersonalIdempotencyRecords = defineCollection<IdempotencyRecord>()({
  name: "personal_idempotency_records",
  scope: "global",
  ...recordFields,
})

export const IdempotencyRecords = defineCollection<IdempotencyRecord>()({
  name: "idempotency_records",
  scope: "organization",
  ...recordFields,
  restore: (record) => ({ ...record, call: record.call ?? "", leased_until: record.leased_until ?? record.expires_at }),
})

export interface KeptAnswer {
  readonly status: number
  readonly body: Json
}

const keptMs = 24 * 3_600_000
const leaseMs = 30_000
const renewalMs = leaseMs / 3
/** Status of a record with a running call. */
const running = 0
const keyPattern = /^[\x21-\x7e]{1,255}$/

interface Deps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  /** HMAC key for input digests. */
  readonly digestKey: Buffer
}

/**
 * Runs at most one call for each key. While a call runs, this node refuses repeats at once. Between nodes the unique record id
 * decides at commit; the losing call returns the winner's response. Calls to external services reserve their key first and renew
 * its lease while they run.
 * A failed call leaves no record, so its repeat runs. After an expired lease the outcome is unknown, and repeats are refused with
 * `outcome_unknown`.
 */
export class Idempotency {
  readonly #deps: Deps
  readonly #running = new Map<string, string>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Throws `aborted` while the first call runs on this node. Throws `invalid_argument` for an invalid key. */
  claim(operation: AnyOperation, caller: AnyCaller, key: string, input: unknown): Claim {
    if (!keyPattern.test(key)) {
      throw new AppError("invalid_argument", "An Idempotency-Key is 1 to 255 visible ASCII characters without spaces, such as a UUID.", {
        reason: "invalid_idempotency_key",
      })
    }
    // The call may add a person to an organization. Later repeats then come from inside the organization.
    const person = operation.access.withoutOrganization && caller.signIn ? caller.user?.id : undefined
    const organization = person === undefined ? requireOrganization(caller, operation.name).organization.id : undefined
    const id = derivedUuid("idempotency", person ?? organization ?? "", operation.name, key)
    const digest = createHmac("sha256", this.#deps.digestKey).update(canonicalJson(input)).digest("base64url")
    const held = { id, organization, operation: operation.name, key, digest }
    if (operation.joinsRepeats) return new Claim(this.#deps, held, () => undefined)
    const inFlight = this.#running.get(id)
    if (inFlight !== undefined) throw inFlight === digest ? stillRunning(key) : otherInput(key, operation.name)
    this.#running.set(id, digest)
    return new Claim(this.#deps, held, () => this.#running.delete(id))
  }
}

interface Held {
  readonly id: string
  /** Undefined for records of a person. */
  readonly organization: string | undefined
  readonly operation: string
  readonly key: string
  readonly digest: string
}

/** The claim of a call to its key. The caller must `release` it. */
export class Claim {
  readonly #deps: Deps
  readonly #held: Held
  readonly #forget: () => void
  /** Filter for the record to replace: an expired record, or this call's reservation. */
  #replaces: Filter | undefined
  readonly #call: string
  #reserved = false
  #stopRenewing = () => {}

  constructor(deps: Deps, held: Held, forget: () => void) {
    this.#deps = deps
    this.#held = held
    this.#forget = forget
    this.#call = deps.ids.uuid()
  }

  /** Equal for every call with this key. */
  get id(): string {
    return this.#held.id
  }

  /**
   * Returns the response of an earlier call. Throws `invalid_argument` if the earlier call had other input. Throws `aborted`
   * while another node runs it, and `failed_precondition` if its node died.
   */
  async first(): Promise<KeptAnswer | undefined> {
    const { id, organization, digest, key, operation } = this.#held
    const { store } = this.#deps
    const records = organization === undefined ? store.open(PersonalIdempotencyRecords) : store.open(IdempotencyRecords, organization)
    const found = await records.get(id)
    if (!found) return undefined
    if (this.#reserved && found.call === this.#call) return undefined
    const now = this.#deps.clock.now()
    if (Date.parse(found.expires_at) <= now) {
      this.#replaces = { expires_at: found.expires_at }
      return undefined
    }
    if (found.input_digest !== digest) throw otherInput(key, operation)
    if (found.status === running) throw Date.parse(found.leased_until) > now ? stillRunning(key) : outcomeUnknown(key)
    return { status: found.status, body: replayed(found) }
  }

  /**
   * Reserves the key for a call to external services. Other nodes then cannot start the same call. Throws `already_exists` or
   * `aborted` if another call was first.
   */
  async reserve(): Promise<void> {
    const work = new StagedWork(this.#deps.ids.uuid())
    this.#put(work, { status: running, answer: null, omitted: [] })
    await this.#deps.store.commit(work.commit)
    this.#replaces = { call: this.#call }
    this.#reserved = true
    this.#renewLater()
  }

  /** Stages the response without secrets, together with the changes of the call. */
  record(work: UnitOfWork, answer: KeptAnswer, secrets: readonly string[]): void {
    const { rest, omitted } = without(answer.body, secrets)
    this.#put(work, { status: answer.status, answer: rest, omitted })
  }

  /** Removes a reservation without a response. */
  async release(): Promise<void> {
    this.#forget()
    this.#stopRenewing()
    if (!this.#reserved) return
    const work = new StagedWork(this.#deps.ids.uuid())
    this.#recordsIn(work).remove(this.#held.id, { where: this.#unanswered(), optional: true })
    await this.#deps.store.commit(work.commit)
  }

  /**
   * The next renewal repairs a failed renewal. If all renewals fail, repeats receive `outcome_unknown` until a response is
   * stored.
   */
  #renewLater(): void {
    this.#stopRenewing = this.#deps.clock.after(renewalMs, () => {
      this.#renewLater()
      const work = new StagedWork(this.#deps.ids.uuid())
      const update = { $set: { leased_until: this.#lease() } }
      this.#recordsIn(work).update(this.#held.id, update, { where: this.#unanswered(), optional: true })
      this.#deps.store.commit(work.commit).catch(() => {})
    })
  }

  #recordsIn(work: UnitOfWork): StagedCollection<IdempotencyRecord> {
    const { organization } = this.#held
    return organization === undefined ? work.in(PersonalIdempotencyRecords) : work.in(IdempotencyRecords, organization)
  }

  #unanswered(): Filter {
    return { status: running, call: this.#call }
  }

  #lease(): string {
    return timestamp(this.#deps.clock.now() + leaseMs)
  }

  #put(work: UnitOfWork, outcome: Pick<IdempotencyRecord, "status" | "answer" | "omitted">): void {
    const { id, operation, digest } = this.#held
    const now = this.#deps.clock.now()
    const times = { leased_until: this.#lease(), created_at: timestamp(now), expires_at: timestamp(now + keptMs) }
    const fields = { operation, input_digest: digest, call: this.#call, ...outcome, ...times }
    const records = this.#recordsIn(work)
    if (this.#replaces !== undefined) records.update(id, { $set: fields }, { where: this.#replaces })
    else records.insert({ id, ...fields })
  }
}

/** Returns the stored response. `details` names the omitted secrets. */
function replayed({ answer, omitted }: IdempotencyRecord): Json {
  if (omitted.length === 0 || typeof answer !== "object" || answer === null || Array.isArray(answer)) return answer
  return { ...answer, details: { reason: "secret_shown_once", omitted } }
}

function stillRunning(key: string): AppError {
  return new AppError("aborted", `The call with the Idempotency-Key "${key}" is still running; repeat it a little later.`, {
    reason: "still_running",
  })
}

function outcomeUnknown(key: string): AppError {
  const message = `The call with the Idempotency-Key "${key}" was lost with the node that ran it, and what it did is unknown. Look whether it was done before you call again with a new key.`
  return new AppError("failed_precondition", message, { reason: "outcome_unknown" })
}

function otherInput(key: string, operation: string): AppError {
  return new AppError("invalid_argument", `The Idempotency-Key "${key}" was used for another ${operation} call; use a new key.`, {
    reason: "idempotency_key_reused",
  })
}
