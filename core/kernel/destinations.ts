// Calls to other systems, by organization and destination (a host, a mail server). Each destination of an organization has its
// own circuit breaker, so trouble of one organization pauses no other.

import { Breaker, type Outcome } from "./breaker.ts"
import type { Clock } from "./clock.ts"
import { token } from "./di.ts"
import { AppError } from "./errors.ts"
import { BoundedLog, type Logger } from "./log.ts"

export interface Destination {
  /** Empty for the service's own calls. */
  readonly organization: string
  readonly kind: "http" | "mail"
  /** A host with its port, or a mail server. */
  readonly name: string
}

/** A destination with unanswered calls, or with an open breaker. */
export interface DestinationState extends Destination {
  readonly isPaused: boolean
  /** Age of the oldest unanswered call. */
  readonly silentMs: number
}

/** Counts breaker events. */
export type ObserveDestinations = (what: "opened" | "closed" | "refused", kind: Destination["kind"]) => void

export interface DestinationsArgs {
  readonly clock: Clock
  readonly log: Logger
  readonly observe?: ObserveDestinations
}

/** Unanswered time after which a destination is logged. */
const silentAfterMs = 10_000
const maxKept = 10_000
/** An open breaker without calls is forgotten after this time. */
const forgottenMs = 3_600_000

/** The breakers of hosts and mail servers, by organization. */
export interface Destinations {
  /**
   * Makes a call. While the breaker is open it throws `unavailable` (reason `destination_paused`) without a call. `outcomeOf`
   * maps an error to an outcome for the breaker.
   */
  call<T>(to: Destination, run: () => Promise<T>, outcomeOf?: (error: unknown) => Outcome): Promise<T>
  /** Destinations with unanswered calls or an open breaker. */
  states(): DestinationState[]
}

export const Destinations = token<Destinations>("Destinations")

export class WatchedDestinations implements Destinations {
  readonly #args: DestinationsArgs
  readonly #log: BoundedLog
  readonly #breakers = new Map<string, { readonly to: Destination; readonly breaker: Breaker }>()
  #cancelWatch: (() => void) | undefined

  constructor(args: DestinationsArgs) {
    this.#args = args
    this.#log = new BoundedLog(args.log, args.clock)
  }

  async call<T>(to: Destination, run: () => Promise<T>, outcomeOf = outcomeOfError): Promise<T> {
    const { clock, observe } = this.#args
    const key = `${to.organization}\n${to.kind}\n${to.name}`
    const breaker = this.#breaker(key, to)
    const call = breaker.begin(clock.monotonic())
    if (typeof call === "number") {
      observe?.("refused", to.kind)
      throw paused(to, breaker, call)
    }
    this.#watch()
    let outcome: Outcome = "unknown"
    try {
      const answer = await run()
      outcome = "answered"
      return answer
    } catch (error) {
      outcome = outcomeOf(error)
      throw error
    } finally {
      this.#note(to, breaker, breaker.end(call, outcome, clock.monotonic()))
      if (breaker.isIdle) this.#breakers.delete(key)
    }
  }

  states(): DestinationState[] {
    const now = this.#args.clock.monotonic()
    const states: DestinationState[] = []
    for (const [key, { to, breaker }] of this.#breakers) {
      if (breaker.calls.size === 0 && now > breaker.probesAt + forgottenMs && breaker.isOpen) this.#breakers.delete(key)
      else if (breaker.calls.size > 0 || breaker.isOpen)
        states.push({ ...to, isPaused: breaker.isOpen, silentMs: now - (breaker.oldest ?? now) })
    }
    return states
  }

  #breaker(key: string, to: Destination): Breaker {
    const known = this.#breakers.get(key)
    if (known) return known.breaker
    if (this.#breakers.size >= maxKept) this.#forgetQuiet()
    const breaker = new Breaker()
    this.#breakers.set(key, { to, breaker })
    return breaker
  }

  #forgetQuiet(): void {
    for (const [key, { breaker }] of this.#breakers) if (breaker.calls.size === 0 && !breaker.isOpen) this.#breakers.delete(key)
  }

  #note(to: Destination, { timeouts, pauseMs }: Breaker, became: "opened" | "closed" | undefined): void {
    if (!became) return
    this.#args.observe?.(became, to.kind)
    const { log } = this.#args
    if (became === "closed") log.info(named(to), "the destination answers again; its calls go on")
    else
      log.warn(
        { ...named(to), timeouts, probe_in_ms: pauseMs },
        "calls to the destination are paused: it did not answer; check that it is up, calls go on by themselves once a probe is answered",
      )
  }

  /** Checks for silent destinations while calls are unanswered. */
  #watch(): void {
    this.#cancelWatch ??= this.#args.clock.after(silentAfterMs, () => {
      this.#cancelWatch = undefined
      let isCalling = false
      for (const state of this.states()) {
        isCalling ||= state.silentMs > 0
        if (state.silentMs < silentAfterMs || state.isPaused) continue
        const fields = { ...named(state), silent_ms: Math.round(state.silentMs) }
        this.#log.warn(`${state.organization} ${state.name}`, fields, "the destination does not answer; check that it is up and reachable")
      }
      if (isCalling) this.#watch()
    })
  }
}

/** A fast error counts as an answer. */
function outcomeOfError(error: unknown): Outcome {
  if (!(error instanceof AppError)) return "unknown"
  if (error.code === "deadline_exceeded" || isConnectTimeout(error)) return "silent"
  return error.code === "canceled" || error.notTried ? "unknown" : "answered"
}

function isConnectTimeout({ details }: AppError): boolean {
  const { cause } = details as { cause?: unknown }
  return cause === "UND_ERR_CONNECT_TIMEOUT" || cause === "ETIMEDOUT"
}

function named({ organization, kind, name }: Destination) {
  return { organization, kind, destination: name }
}

function paused({ name }: Destination, { timeouts }: Breaker, waitMs: number): AppError {
  // Random spread, so callers do not return together.
  const retryAfterS = Math.max(1, Math.ceil((waitMs * (1 + Math.random() / 4)) / 1_000))
  const message = `${name} was not called: its last ${timeouts} calls got no answer, so calls are paused. Check that it is up. The next attempt is in ${retryAfterS} s.`
  return new AppError("unavailable", message, { reason: "destination_paused" }, { retryAfterS, notTried: true })
}
