// Visitors of a page with an experiment: single visitors, who load the page and send its beacon's events, and many visitors at
// once as stored rows.
import { type TestHost, testHost } from "#core/testing"
import { pluginSettings } from "../buckets/stores.ts"
import { AnalyticsHost, type EventValues } from "../page-analytics/host.ts"
import { desktopChrome, event, Loop } from "../page-events/loop.ts"

export interface Page {
  readonly id: string
  readonly slug: string
}

export interface Visit {
  readonly variant: string
  readonly envelope: Record<string, unknown>
}

/** A visit that counts once its beacon sends the view and these events. */
export interface Served extends Visit {
  tell(events: readonly object[]): Promise<void>
}

interface VisitorData {
  readonly u: string
  readonly e: Record<string, unknown>
}

let visitors = 0
let sessions = 0

export class Traffic {
  readonly host: TestHost
  readonly analytics: AnalyticsHost
  readonly #loop: Loop
  #isCopied = false
  readonly #running = new Set<string>()

  constructor(host: TestHost) {
    this.host = host
    this.analytics = new AnalyticsHost(host)
    this.#loop = new Loop(host)
  }

  static settings(): Record<string, string> {
    return pluginSettings({
      "page-analytics": { seal_every_ms: 200, deadline_ms: 60_000, ready_processes: 0, threads: 1 },
      "page-events": { address_per_minute: 1_000_000, organization_per_minute: 1_000_000 },
    })
  }

  static async start(): Promise<Traffic> {
    return new Traffic(await testHost({ env: Traffic.settings() }))
  }

  call<T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<T> {
    return this.#loop.call<T>(method, path, body)
  }

  /** Creates a published page with these variants, and a running experiment on it. */
  async running(
    name: string,
    more: object = {},
    html: readonly string[] = ["<h1>A</h1>", "<h1>B</h1>"],
  ): Promise<{ page: Page; slug: string }> {
    const variants = html.map((own, place) => ({ key: "abcdef"[place], html: own, weight: 1 }))
    const page = await this.call<Page>("POST", "/v1/pages", { title: name, variants })
    await this.call("POST", `/v1/pages/${page.slug}/publish`)
    const { slug } = await this.call<{ slug: string }>("POST", "/v1/experiments", { name, page: page.slug, ...more })
    await this.call("POST", `/v1/experiments/${slug}/start`)
    this.#running.add(slug)
    return { page, slug }
  }

  /** Archives the experiments started by `running`. */
  async archiveRunning(): Promise<void> {
    await Promise.all([...this.#running].map((slug) => this.host.invoke("experiments.archive", { slug })))
    this.#running.clear()
  }

  /** Loads the page as a visitor. Its beacon sends the view and these events. */
  async visit(page: Page, events: readonly object[] = [], agent?: string): Promise<Visit> {
    const visit = await this.served(page, agent)
    await visit.tell(events)
    return visit
  }

  async served(page: Page, agent = `${desktopChrome} Visitor/${++visitors}`): Promise<Served> {
    const response = await fetch(`${this.host.url}/p/${this.host.organization.slug}/${page.slug}`, { headers: { "user-agent": agent } })
    const options = JSON.parse(unescaped(/data-mr="([^"]*)"/.exec(await response.text())?.[1] ?? "")) as VisitorData
    const tell = async (events: readonly object[]) => {
      const body = { _envelope: options.e, sent_at: this.host.clock.now(), events: [event("pageview"), ...events] }
      const { status } = await this.#loop.send(options.u, { ...page, path: "" }, body, { "user-agent": agent })
      if (status !== 200 && !agent.includes("bot")) throw new Error(`The events were answered ${status}.`)
    }
    return { variant: String(options.e["variant"]), envelope: options.e, tell }
  }

  /** Returns rows of `n` sessions with a view of a variant; the first `leads` of them converted. Received now. */
  rowsOf(
    page: Page,
    variant: string,
    { n, leads = 0, ...more }: { n: number; leads?: number } & Record<string, string | number>,
  ): EventValues[] {
    return Array.from({ length: n }, (_, place) => {
      const session_id = `session-${++sessions}`
      const row = { artifact_id: page.id, variant, session_id, at: this.analytics.now, is_test: false, browser: "chrome", ...more }
      const view = { ...row, event_id: `${session_id}:view`, event: "pageview" }
      return place < leads ? [view, { ...row, event_id: `${session_id}:lead`, event: "lead" }] : [view]
    }).flat()
  }

  /** Commits rows, received now, and resolves when they are counted. */
  async write(rows: readonly EventValues[]): Promise<void> {
    await this.commit(rows)
    await this.counted()
  }

  /** Commits rows, received now. An organization's first event starts its copy; many such events at once strain MongoDB. */
  async commit(rows: readonly EventValues[]): Promise<void> {
    const first = this.#isCopied ? 0 : 1
    if (first > 0) {
      await this.analytics.write(rows.slice(0, first))
      await this.counted()
      this.#isCopied = true
    }
    await this.analytics.write(rows.slice(first))
  }

  /** Resolves when all events sent so far are counted. */
  async counted(): Promise<void> {
    await this.analytics.caughtUp()
  }

  stop(): Promise<void> {
    return this.host.stop()
  }
}

function unescaped(text: string): string {
  return text.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&#39;", "'").replaceAll("&amp;", "&")
}
