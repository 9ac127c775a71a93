// Idempotency-Key: the first answer of a call that changes something is kept for 24 h, in the call's own commit, and
// given again to its repeats. A call in progress on this node refuses its repeat at once; between nodes the record's
// unique id decides at commit, and the loser is given the winner's answer; a call that reaches beyond this service
// reserves its key first, so that only one runs at all, and renews the lease of it while it runs. A call that failed left
// nothing, so its repeat runs; of one whose lease lapsed nobody knows what it did, so its repeats are told that.
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
  /** HMAC of the input, so that guessing at what was sent gains nothing. */
  input_digest: string
  status: number
  answer: Json
  /** Secret fields that the answer had and the record has not. */
  omitted: string[]
  /** Drawn by the call that reserved the key, or answered. */
  call: string
  /** Of a call that is running: when its node is taken for dead unless it renews this. */
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

/** Records of a person's calls with or without an organization. */
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
/** Status of a record whose call is still running. */
const running = 0
const keyPattern = /^[\x21-\x7e]{1,255}$/

interface Deps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  /** Keys the digests of inputs. */
  readonly digestKey: Buffer
}

export class Idempotency {
  readonly #deps: Deps
  readonly #running = new Map<string, string>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Throws `aborted` while the first call is still running on this node, `invalid_argument` for an invalid key. */
  claim(operation: AnyOperation, caller: AnyCaller, key: string, input: unknown): Claim {
    if (!keyPattern.test(key)) {
      throw new AppError("invalid_argument", "An Idempotency-Key is 1 to 255 visible ASCII characters without spaces, such as a UUID.", {
        reason: "invalid_idempotency_key",
      })
    }
    // A person may join an organization by the call, and repeats it from there.
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

/** One call's claim of its key; always `release` it. */
export class Claim {
  readonly #deps: Deps
  readonly #held: Held
  readonly #forget: () => void
  /** What tells the record that `record` replaces: an old one, or this call's own reservation. */
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

  /** The same for every call with this key. */
  get id(): string {
    return this.#held.id
  }

  /** The answer of an earlier call, when there is one. Throws `invalid_argument` when that one asked for something else, `aborted` while another node runs it, `failed_precondition` when that node died of it. */
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

  /** For calls that reach beyond this service: a record ahead of the call, so that no other node starts the same one. Throws `already_exists` or `aborted` when another was first. */
  async reserve(): Promise<void> {
    const work = new StagedWork(this.#deps.ids.uuid())
    this.#put(work, { status: running, answer: null, omitted: [] })
    await this.#deps.store.commit(work.commit)
    this.#replaces = { call: this.#call }
    this.#reserved = true
    this.#renewLater()
  }

  /** Stages the answer, without its secrets, with the call's own changes. */
  record(work: UnitOfWork, answer: KeptAnswer, secrets: readonly string[]): void {
    const { rest, omitted } = without(answer.body, secrets)
    this.#put(work, { status: answer.status, answer: rest, omitted })
  }

  /** Takes back a reservation that no answer replaced. */
  async release(): Promise<void> {
    this.#forget()
    this.#stopRenewing()
    if (!this.#reserved) return
    const work = new StagedWork(this.#deps.ids.uuid())
    this.#recordsIn(work).remove(this.#held.id, { where: this.#unanswered(), optional: true })
    await this.#deps.store.commit(work.commit)
  }

  /** A renewal that fails is made up for by the next; where none gets through, repeats are told that the outcome is unknown, until there is an answer. */
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

/** The kept answer; where a secret was left out of it, `details` says so. */
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
