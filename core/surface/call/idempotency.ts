// Idempotency-Key: the first answer of a call that changes something is kept for 24 h, in the call's own commit, and
// given again to its repeats. A call in progress on this node refuses its repeat at once; between nodes the record's
// unique id decides at commit, and the loser is given the winner's answer; a call that reaches beyond this service
// reserves its key first, so that only one runs at all. A call that failed left nothing, so its repeat runs.
import { createHmac } from "node:crypto"
import type { Caller } from "../../contract/caller.ts"
import { type Document, defineCollection, type Json } from "../../contract/collection.ts"
import type { AnyOperation } from "../../contract/operation.ts"
import type { Store } from "../../contract/store.ts"
import { StagedWork, type UnitOfWork } from "../../contract/unit-of-work.ts"
import { canonicalJson } from "../../kernel/canonical-json.ts"
import { type Clock, timestamp } from "../../kernel/clock.ts"
import { AppError } from "../../kernel/errors.ts"
import { derivedUuid, type Ids } from "../../kernel/ids.ts"
import { without } from "./redact.ts"

export interface IdempotencyRecord extends Document {
  operation: string
  /** HMAC of the input, so that guessing at what was sent gains nothing. */
  input_digest: string
  status: number
  answer: Json
  /** Secret fields that the answer had and the record has not. */
  omitted: string[]
  created_at: string
  expires_at: string
}

export const IdempotencyRecords = defineCollection<IdempotencyRecord>()({
  name: "idempotency_records",
  scope: "organization",
  times: ["created_at", "expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
})

export interface KeptAnswer {
  readonly status: number
  readonly body: Json
}

const keptMs = 24 * 3_600_000
/** How long a reservation stands for a call whose node died. */
const reservedMs = 15 * 60_000
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
  claim(operation: AnyOperation, caller: Caller, key: string, input: unknown): Claim {
    if (!keyPattern.test(key)) {
      throw new AppError("invalid_argument", "An Idempotency-Key is 1 to 255 visible ASCII characters without spaces, such as a UUID.", {
        reason: "invalid_idempotency_key",
      })
    }
    const organization = caller.organization.id
    const id = derivedUuid("idempotency", organization, operation.name, key)
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
  readonly organization: string
  readonly operation: string
  readonly key: string
  readonly digest: string
}

/** One call's claim of its key; always `release` it. */
export class Claim {
  readonly #deps: Deps
  readonly #held: Held
  readonly #forget: () => void
  /** `expires_at` of the record that `record` replaces: an old one, or this call's own reservation. */
  #replaces: string | undefined
  #reserved = false

  constructor(deps: Deps, held: Held, forget: () => void) {
    this.#deps = deps
    this.#held = held
    this.#forget = forget
  }

  /** The same for every call with this key. */
  get id(): string {
    return this.#held.id
  }

  /** The answer of an earlier call, when there is one. Throws `invalid_argument` when that one asked for something else, `aborted` while another node runs it. */
  async first(): Promise<KeptAnswer | undefined> {
    const { id, organization, digest, key, operation } = this.#held
    const found = await this.#deps.store.open(IdempotencyRecords, organization).get(id)
    if (!found) return undefined
    const own = this.#reserved && found.expires_at === this.#replaces
    if (own) return undefined
    if (Date.parse(found.expires_at) <= this.#deps.clock.now()) {
      this.#replaces = found.expires_at
      return undefined
    }
    if (found.input_digest !== digest) throw otherInput(key, operation)
    if (found.status === running) throw stillRunning(key)
    return { status: found.status, body: replayed(found) }
  }

  /** For calls that reach beyond this service: a record ahead of the call, so that no other node starts the same one. Throws `already_exists` or `aborted` when another was first. */
  async reserve(): Promise<void> {
    const work = new StagedWork(this.#deps.ids.uuid())
    const expiry = this.#put(work, { status: running, answer: null, omitted: [] }, reservedMs)
    await this.#deps.store.commit(work.commit)
    this.#replaces = expiry
    this.#reserved = true
  }

  /** Stages the answer, without its secrets, with the call's own changes. */
  record(work: UnitOfWork, answer: KeptAnswer, secrets: readonly string[]): void {
    const { rest, omitted } = without(answer.body, secrets)
    this.#put(work, { status: answer.status, answer: rest, omitted }, keptMs)
  }

  /** Takes back a reservation that no answer replaced. */
  async release(): Promise<void> {
    this.#forget()
    if (!this.#reserved || this.#replaces === undefined) return
    const work = new StagedWork(this.#deps.ids.uuid())
    const where = { status: running, expires_at: this.#replaces }
    work.in(IdempotencyRecords, this.#held.organization).remove(this.#held.id, { where, optional: true })
    await this.#deps.store.commit(work.commit)
  }

  #put(work: UnitOfWork, outcome: Pick<IdempotencyRecord, "status" | "answer" | "omitted">, forMs: number): string {
    const { id, organization, operation, digest } = this.#held
    const now = this.#deps.clock.now()
    const times = { created_at: timestamp(now), expires_at: timestamp(now + forMs) }
    const fields = { operation, input_digest: digest, ...outcome, ...times }
    const records = work.in(IdempotencyRecords, organization)
    if (this.#replaces !== undefined) records.update(id, { $set: fields }, { where: { expires_at: this.#replaces } })
    else records.insert({ id, ...fields })
    return times.expires_at
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

function otherInput(key: string, operation: string): AppError {
  return new AppError("invalid_argument", `The Idempotency-Key "${key}" was used for another ${operation} call; use a new key.`, {
    reason: "idempotency_key_reused",
  })
}
