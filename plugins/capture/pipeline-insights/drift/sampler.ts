// Samples events for sketches. A quiet pipeline has every event sampled, a busy pipeline one event in several. A sampled event
// also represents the skipped events before it. The decision costs a few additions; the analysis runs later, with a bound per
// second.
import type { Clock } from "#core"

/** Approximate number of sampled events per pipeline and second. */
const perPipeline = 20
/** Bound per second over all pipelines of this node. */
const perNode = 200
/** Bound on the characters of their bodies per second. */
const perNodeText = 1_048_576
/** Longer bodies are not sampled. */
const maxText = 262_144
const maxPipelines = 10_000
const windowMs = 1_000

interface Rate {
  window: number
  events: number
  taken: number
  stride: number
  /** Numbers of accepted and rejected events since the last sampled event. */
  passed: [number, number]
}

export class Sampler {
  readonly #clock: Clock
  readonly #rates = new Map<string, Rate>()
  #window = 0
  #taken = 0
  #text = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns the number of events this event represents, or 0 if it is not sampled. */
  take(pipelineId: string, text: number, rejected: boolean): number {
    const window = Math.floor(this.#clock.monotonic() / windowMs)
    const rate = this.#rateOf(pipelineId, window)
    const kind = rejected ? 1 : 0
    const due = rate.events++ % rate.stride === 0 && text <= maxText && this.#within(window, text)
    if (!due) {
      rate.passed[kind]++
      return 0
    }
    // Reacts to a burst within its first second.
    if (++rate.taken % perPipeline === 0) rate.stride *= 2
    const weight = 1 + rate.passed[kind]
    rate.passed[kind] = 0
    return weight
  }

  #within(window: number, text: number): boolean {
    if (this.#window !== window) {
      this.#window = window
      this.#taken = 0
      this.#text = 0
    }
    if (this.#taken >= perNode || this.#text + text > perNodeText) return false
    this.#taken++
    this.#text += text
    return true
  }

  #rateOf(pipelineId: string, window: number): Rate {
    const known = this.#rates.get(pipelineId)
    if (known) {
      if (known.window !== window) {
        known.stride = window - known.window > 1 ? 1 : Math.max(1, Math.ceil(known.events / perPipeline))
        known.window = window
        known.events = 0
        known.taken = 0
      }
      return known
    }
    if (this.#rates.size >= maxPipelines) this.#rates.clear()
    const fresh: Rate = { window, events: 0, taken: 0, stride: 1, passed: [0, 0] }
    this.#rates.set(pipelineId, fresh)
    return fresh
  }
}
