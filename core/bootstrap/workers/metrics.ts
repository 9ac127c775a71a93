// Metrics of all workers as one: a scrape reaches any of them, and must tell of all.
import { AggregatorRegistry, Counter, Gauge, Registry } from "prom-client"
import type { Link } from "../../contract/link.ts"
import type { Metrics } from "../../contract/metrics.ts"
import type { Clock } from "../../kernel/clock.ts"

const topics = { all: "metrics.all", own: "metrics.own" } as const
/** A worker that says nothing for so long is left out of a scrape. */
const withinMs = 1_000

type Sample = Awaited<ReturnType<Registry["getMetricsAsJSON"]>>

/** The parent's side. */
export class MetricsService {
  readonly #clock: Clock
  readonly #links = new Set<Link>()
  readonly #own = new Registry()
  readonly #restarts: Counter

  constructor({ clock, listening }: { clock: Clock; listening: () => number }) {
    this.#clock = clock
    this.#restarts = new Counter({
      name: "millrace_worker_restarts_total",
      help: "Workers that ended and were started again.",
      registers: [this.#own],
    })
    new Gauge({
      name: "millrace_workers",
      help: "Workers that are at work.",
      registers: [this.#own],
      collect() {
        this.set(listening())
      },
    })
  }

  serve(link: Link): void {
    this.#links.add(link)
    link.onLost(() => this.#links.delete(link))
    link.answer(topics.all, async () => {
      const samples = await Promise.all([...this.#links].map((one) => this.#of(one)))
      return [await this.#own.getMetricsAsJSON(), ...samples.filter((sample) => sample !== undefined)]
    })
  }

  restarted(): void {
    this.#restarts.inc()
  }

  #of(link: Link): Promise<Sample | undefined> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(withinMs, () => resolve(undefined))
      void link
        .ask<Sample>(topics.own)
        .catch(() => undefined)
        .then((sample) => {
          cancel()
          resolve(sample)
        })
    })
  }
}

/** A worker's side: its own metrics for the others, and everyone's for a scrape. */
export function sharedMetrics(link: Link, own: Metrics): Pick<Metrics, "metrics" | "contentType"> {
  link.answer(topics.own, () => own.getMetricsAsJSON())
  return {
    contentType: own.contentType,
    async metrics() {
      const samples = await link.ask<Sample[]>(topics.all)
      return await AggregatorRegistry.aggregate(samples).metrics()
    },
  }
}
