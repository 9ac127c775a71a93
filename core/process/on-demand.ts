// A peer that starts for its first request and again after its end. Repeated failures of a start wait longer each time.
// A peer that ended during a request does not count: input of one organization would delay the requests of others.
import { type Clock, sleep, systemClock } from "../kernel/clock.ts"
import { throwUncaught } from "../kernel/promises.ts"
import { type Peer, PeerLost } from "./peer.ts"

const firstPauseMs = 100
const maxPauseMs = 10_000

/** Starts a peer when a request needs one. */
export class OnDemand<P extends Peer> {
  readonly #start: () => P
  readonly #clock: Clock
  readonly #stopping = new AbortController()
  #peer: P | undefined
  #failedStarts = 0
  #notBefore = Number.NEGATIVE_INFINITY

  constructor(start: () => P, clock: Clock = systemClock) {
    this.#start = start
    this.#clock = clock
  }

  /** Returns undefined before the first start, and after the end of the peer. */
  get current(): P | undefined {
    return this.#peer?.isAlive ? this.#peer : undefined
  }

  /** Runs the work with the current peer or a new one. After `stop` it throws the reason of the stop. */
  async use<T>(work: (peer: P) => Promise<T>): Promise<T> {
    const { signal } = this.#stopping
    for (;;) {
      signal.throwIfAborted()
      const pauseMs = this.current ? 0 : this.#notBefore - this.#clock.monotonic()
      if (pauseMs <= 0) break
      await sleep(this.#clock, pauseMs, signal)
    }
    try {
      return await work(this.current ?? this.#started())
    } catch (error) {
      if (error instanceof PeerLost) signal.throwIfAborted()
      throw error
    }
  }

  async stop(reason: Error): Promise<void> {
    this.#stopping.abort(reason)
    await this.#peer?.stop()
  }

  #started(): P {
    const peer = this.#start()
    this.#peer = peer
    peer.ended
      .then(() => {
        if (peer.isStarted) this.#failedStarts = 0
        else this.#notBefore = this.#clock.monotonic() + Math.min(maxPauseMs, firstPauseMs * 2 ** this.#failedStarts++)
      })
      .catch(throwUncaught)
    return peer
  }
}
