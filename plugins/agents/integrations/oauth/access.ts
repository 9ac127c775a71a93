// Valid access tokens for calls. A refresh cannot lose a grant. A node runs one refresh at a time per connection, and nodes take
// turns by a lease. The write compares the generation. Unwritten tokens are stored later. A refusal counts only after the stored
// tokens were read again, and deletes no data.
import { isDeepStrictEqual } from "node:util"
import { AppError, type Leases, timestamp } from "#core"
import { giveUpAfter, sleep } from "#core/engine"
import { Connections } from "../connections.ts"
import { silentHealth } from "../health/health.ts"
import { tellHealth } from "../health/record.ts"
import { authorizationErrorOf, since } from "./authorization-error.ts"
import type { OAuthClients } from "./clients.ts"
import type { Grant } from "./collections.ts"
import { type Granted, KeptTokens, type KeptTokensDeps } from "./kept-tokens.ts"
import { GrantRefused, type OAuthProtocol, type TokenAnswer, tokenTimeoutMs } from "./protocol.ts"

export interface AccessDeps extends KeptTokensDeps {
  readonly leases: Leases
  readonly clients: OAuthClients
  readonly protocol: OAuthProtocol
}

/** A connection's token, and its generation. */
export interface AccessToken {
  readonly token: string
  readonly generation: number
  /** Null: the origin of the app's document. */
  readonly apiOrigin: string | null
}

/** A token is refreshed this long before its end, because clocks differ and a call takes time. */
const marginMs = 60_000
/** A refused token of this age is not outdated, so a refresh would not help. */
const freshMs = 10_000
/** A refused refresh token is retried after this time, since servers make mistakes. */
const refusedMs = 600_000
const leaseMs = tokenTimeoutMs + 30_000
const lookAgainMs = 200
/** A refresh on another node takes less time. After this time the connection shows its waiting calls to users. */
const notedMs = 2_000
/** Time a job waits for a refresh. Then it releases its slot and retries. */
const patienceMs = 5_000

export class OAuthAccess {
  readonly #deps: AccessDeps
  readonly #flights = new Map<string, Promise<AccessToken>>()
  readonly #stopping = new AbortController()
  readonly #kept: KeptTokens

  constructor(deps: AccessDeps) {
    this.#deps = deps
    this.#kept = new KeptTokens(deps)
  }

  /**
   * Returns a token with some remaining lifetime. Throws `failed_precondition` if access is missing or has ended, and
   * `unavailable` if a refresh is impossible now. `comesAgain`: the caller is a job and does not wait for a slow server.
   */
  async token(granted: Granted, comesAgain = false): Promise<AccessToken> {
    const grant = await this.#read(granted)
    if (!this.#isDue(grant)) return this.#opened(granted, grant)
    try {
      return await this.#awaited(granted, this.#refreshed(granted, grant.generation), comesAgain)
    } catch (error) {
      const isUsable = grant.expires_at !== null && Date.parse(grant.expires_at) > this.#deps.clock.now()
      if (isUsable && error instanceof AppError && error.code === "unavailable") return this.#opened(granted, grant)
      throw error
    }
  }

  /** Returns a newer token after a refusal by the API. Returns undefined if the refused token was new, or without a refresh token. */
  async renewed(granted: Granted, refused: AccessToken, comesAgain = false): Promise<AccessToken | undefined> {
    const grant = await this.#read(granted)
    if (grant.generation === refused.generation) {
      const isFresh = this.#isWithin(freshMs, grant.updated_at)
      if (isFresh || this.#deps.grants.open(granted.organization, grant).refresh_token === undefined) return undefined
    }
    return await this.#awaited(granted, this.#refreshed(granted, refused.generation), comesAgain)
  }

  /**
   * Resolves after all refreshes end: a server's answer must be written before the service stops. Aborts refreshes without a risk
   * of loss.
   */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.allSettled(this.#flights.values())
  }

  /**
   * Starts a refresh, or joins the current refresh of the connection. It outlives the starting call, because its answer may
   * contain the only valid refresh token.
   */
  #refreshed(granted: Granted, version: number): Promise<AccessToken> {
    const { id } = granted.connection
    const pending = this.#flights.get(id)
    if (pending) return pending
    const flight = this.#alone(granted, version).finally(() => this.#flights.delete(id))
    this.#flights.set(id, flight)
    // Waiting callers see a failure. The connection shows it to others.
    flight.catch(() => undefined)
    return flight
  }

  /** A retrying job waits for a short time. The refresh continues without it. */
  async #awaited(granted: Granted, flight: Promise<AccessToken>, comesAgain: boolean): Promise<AccessToken> {
    if (!comesAgain) return flight
    let cancel = () => {}
    const tooLate = new Promise<never>((_resolve, reject) => {
      cancel = giveUpAfter(this.#deps.clock, patienceMs, () => reject(late(granted)))
    })
    try {
      return await Promise.race([flight, tooLate])
    } finally {
      cancel()
    }
  }

  async #alone(granted: Granted, version: number): Promise<AccessToken> {
    const { leases, clock, log } = this.#deps
    const { id } = granted.connection
    const lease = `OAuth refresh ${id}`
    const began = clock.monotonic()
    let isNoted = false
    while (!(await leases.claim(lease, leaseMs))) {
      const waited = clock.monotonic() - began
      if (waited > notedMs && !isNoted) {
        isNoted = true
        await this.#note(granted, busy(granted))
        const fields = { integration_id: id, organization: granted.organization }
        log.warn(fields, `a refresh of tokens waits for another node; its lease ends within ${leaseMs / 1_000} s if that node has ended`)
      }
      if (waited > leaseMs) throw busy(granted)
      await sleep(clock, lookAgainMs)
      const grant = await this.#read(granted)
      if (grant.generation > version) return await this.#others(granted, grant, isNoted)
    }
    try {
      const grant = await this.#read(granted)
      return grant.generation > version ? await this.#others(granted, grant, isNoted) : await this.#refresh(granted, grant)
    } finally {
      await leases.release(lease).catch((err: unknown) => log.warn({ err, integration_id: id }, "a lease stays until it expires"))
    }
  }

  /** Returns the token refreshed by another node. */
  async #others(granted: Granted, grant: Grant, isNoted: boolean): Promise<AccessToken> {
    const { works, log } = this.#deps
    const { organization, connection } = granted
    if (isNoted) {
      const change = { $set: { authorization_error: null } }
      await works
        .run((work) => work.in(Connections, organization).update(connection.id, change, { optional: true }))
        .catch((err: unknown) => log.warn({ err, integration_id: connection.id }, "a connection still shows a refresh that has ended"))
    }
    return this.#opened(granted, grant)
  }

  async #refresh(granted: Granted, grant: Grant): Promise<AccessToken> {
    const { clients, protocol, grants } = this.#deps
    const { organization, app } = granted
    const { refresh_token, previous_refresh_token } = grants.open(organization, grant)
    if (grant.refused_at !== null && this.#isWithin(refusedMs, grant.refused_at)) throw expired(granted)
    if (refresh_token === undefined) throw await this.#ended(granted, grant)
    const client = await clients.of(organization, app, grant.client_id)
    for (const token of [refresh_token, previous_refresh_token]) {
      if (token === undefined) continue
      try {
        const signal = grant.keeps_refresh_token ? this.#stopping.signal : undefined
        const answer = await protocol.of(organization).refresh(app.oauth, client, token, signal)
        return await this.#write(granted, grant, { ...answer, refresh_token: answer.refresh_token ?? token })
      } catch (error) {
        if (!(error instanceof GrantRefused)) {
          await this.#note(granted, error)
          throw error
        }
      }
      const now = await this.#read(granted)
      if (now.generation !== grant.generation) return this.#opened(granted, now)
    }
    throw await this.#ended(granted, grant)
  }

  /** Stores the error in the connection, once. The tokens remain for a later refresh. */
  async #note({ organization, connection }: Granted, error: unknown): Promise<void> {
    const { works, clock, live, log } = this.#deps
    if (!(error instanceof AppError) || error.code === "canceled" || error.notTried) return
    const authorization_error = since(connection.authorization_error, authorizationErrorOf(error), timestamp(clock.now()))
    if (isDeepStrictEqual(authorization_error, connection.authorization_error)) return
    const health = error.code === "deadline_exceeded" ? silentHealth(connection.health, error.message, timestamp(clock.now())) : undefined
    const change = { $set: { authorization_error, ...(health ? { health: { ...health } } : {}) } }
    await works
      .run((work) => {
        work.in(Connections, organization).update(connection.id, change, { optional: true })
        if (health) tellHealth(work, live, organization, connection, health)
      })
      .catch((err: unknown) => log.warn({ err, integration_id: connection.id }, "a failed refresh could not be noted on its connection"))
  }

  /** Stores the answer. If another node wrote first, returns that node's token. */
  async #write(granted: Granted, before: Grant, answer: TokenAnswer): Promise<AccessToken> {
    const grant = this.#deps.grants.next(granted.organization, granted.connection.id, before, answer)
    const isStored = await this.#kept.write(granted, before, grant)
    if (!isStored) return { token: answer.access_token, generation: grant.generation, apiOrigin: grant.api_origin }
    return this.#opened(granted, await this.#read(granted))
  }

  /** Marks the connection for users. The tokens remain. */
  async #ended(granted: Granted, grant: Grant): Promise<AppError> {
    const refused_at = timestamp(this.#deps.clock.now())
    await this.#kept.swap(granted, grant, { ...grant, refused_at }).catch((err: unknown) => {
      this.#deps.log.warn({ err, integration_id: granted.connection.id }, "an ended authorization could not be marked")
    })
    return expired(granted)
  }

  async #read(granted: Granted): Promise<Grant> {
    const { organization, connection } = granted
    const unwritten = await this.#kept.flushed(granted)
    if (unwritten) return unwritten
    const grant = await this.#deps.grants.get(organization, connection.id)
    if (grant) return grant
    const message = `The integration "${connection.slug}" is not authorized yet; open its connect_url, or connect it again.`
    throw new AppError("failed_precondition", message, { reason: "integration_unusable", retryable: false })
  }

  #isDue({ expires_at }: Grant): boolean {
    return expires_at !== null && Date.parse(expires_at) - marginMs <= this.#deps.clock.now()
  }

  /** Returns true if the time is less than this long ago. A future time was written by a fast clock. */
  #isWithin(milliseconds: number, at: string): boolean {
    const age = this.#deps.clock.now() - Date.parse(at)
    return age > -marginMs && age < milliseconds
  }

  #opened({ organization }: Granted, grant: Grant): AccessToken {
    const { generation, api_origin: apiOrigin } = grant
    return { token: this.#deps.grants.open(organization, grant).access_token, generation, apiOrigin }
  }
}

function expired({ connection, app }: Granted): AppError {
  const message = `The authorization of "${connection.slug}" has ended: ${app.name} refused to refresh it. Connect it again with rotate_credentials.`
  return new AppError("failed_precondition", message, { reason: "oauth_expired", retryable: false })
}

function busy({ connection }: Granted): AppError {
  const message = `The tokens of "${connection.slug}" are being refreshed by another node; try again.`
  return new AppError("unavailable", message, { reason: "oauth_refresh_busy" })
}

function late({ connection }: Granted): AppError {
  const message = `The tokens of "${connection.slug}" are being refreshed, and the authorization server has not answered yet. Try again in ${patienceMs / 1_000} s.`
  return new AppError("unavailable", message, { reason: "oauth_refresh_busy" }, { retryAfterS: patienceMs / 1_000, notTried: true })
}
