// A service that seals its copy several times a second. Writes page events as their plugin does, and waits until the copy
// contains all committed events.
import { Clock, Ids, type Json, timestamp, UnitsOfWork } from "#core"
import { type TestHost, type TestHostOptions, testHost } from "#core/testing"
import { Datasets } from "../../../plugins/data/datasets/index.ts"
import { PageAnalytics } from "../../../plugins/pages/page-analytics/index.ts"
import { Organizations } from "../../../plugins/platform/organizations/index.ts"
import { until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"

let drawn = 0

/** No ready processes: a start takes longer than most tests' queries. */
const quick = { seal_every_ms: 100, deadline_ms: 60_000, ready_processes: 0 }

export interface Answer {
  readonly columns: string[]
  readonly types: string[]
  readonly rows: unknown[][]
  readonly truncated: boolean
  readonly enabled: boolean
  readonly as_of: string | null
  readonly code?: string
  readonly message?: string
  readonly details?: { readonly reason?: string }
}

export type EventValues = Record<string, Json> & { event_id: string; event: string }

export class AnalyticsHost {
  readonly host: TestHost
  readonly organization: { readonly id: string; readonly slug: string }

  constructor(host: TestHost, organization: { readonly id: string; readonly slug: string } = host.organization) {
    this.host = host
    this.organization = organization
  }

  /** Returns the same service for another organization, managed by the host's own organization. */
  async another(): Promise<AnalyticsHost> {
    const organizations = this.host.get(Organizations)
    const organization = await this.host.get(UnitsOfWork).run((work) => organizations.create(work, { name: `Organization ${++drawn}` }))
    await this.host
      .get(UnitsOfWork)
      .run((work) => organizations.setManager(work, organization.id, { id: this.host.organization.id, role: "admin" }))
    return new AnalyticsHost(this.host, organization)
  }

  /** Calls the API inside the organization. */
  api<T = Record<string, unknown>>(method: string, path: string, body?: unknown) {
    return this.host.api<T>(method, path, body, { headers: { "x-organization-id": this.organization.id } })
  }

  static async start(
    settings: Record<string, unknown> = {},
    others: Record<string, unknown> = {},
    options: TestHostOptions = {},
  ): Promise<AnalyticsHost> {
    const env = pluginSettings({ "page-analytics": { ...quick, ...settings }, ...others })
    return new AnalyticsHost(await testHost({ ...options, env: { ...env, ...options.env } }))
  }

  /** Commits events with that time of receipt. Returns their rows' ids. */
  async write(events: readonly EventValues[], receivedAt = this.now): Promise<string[]> {
    const { organization } = this
    const dataset = this.host.get(Datasets).reserve("page-events", "page analytics")
    await this.host.get(UnitsOfWork).run((work) => dataset.ensure(work, organization, { class: "events" }))
    const ids: string[] = []
    for (let first = 0; first < events.length; first += 500) {
      await this.host.get(UnitsOfWork).run(async (work) => {
        const executionId = this.host.get(Ids).uuid()
        for (const [itemIndex, values] of events.slice(first, first + 500).entries()) {
          const origin = { executionId, stepId: "save", itemIndex, receivedAt }
          ids.push((await dataset.write(work, { organization, key: "event_id", values, origin })).row_id)
        }
      })
    }
    return ids
  }

  async query(sql: string): Promise<Answer> {
    return (await this.api<Answer>("POST", "/v1/page-analytics/query", { query: sql })).body
  }

  /** Returns the rows of a query. Throws if the query is refused. */
  async rows(sql: string): Promise<unknown[][]> {
    const answer = await this.query(sql)
    if (!answer.rows) throw new Error(`${sql} was refused: ${answer.message}`)
    return answer.rows
  }

  /** The service's time. */
  get now(): string {
    return timestamp(this.host.get(Clock).now())
  }

  /**
   * Resolves when the copy contains all currently committed events. Strictly later, since a pass of this millisecond may have
   * started before them.
   */
  async caughtUp(): Promise<void> {
    const { now } = this
    await until(async () => {
      const { as_of } = await this.host.get(PageAnalytics).status(this.organization.id)
      return as_of !== null && as_of > now
    })
  }

  stop(): Promise<void> {
    return this.host.stop()
  }
}

/** Returns an event with every column of a page view. */
export function event(kind: string, values: Record<string, Json> = {}): EventValues {
  return {
    event_id: `event-${process.pid}-${++drawn}`,
    event: kind,
    artifact_id: "0190f0c0-0000-7000-8000-000000000001",
    page_url: "https://acme.test/offer",
    variant: "a",
    session_id: "s1",
    utm_source: "",
    at: new Date().toISOString(),
    is_test: false,
    device_type: "mobile",
    browser: "chrome",
    in_app: "",
    language: "en",
    country: "DE",
    ...values,
  }
}
