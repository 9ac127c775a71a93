import { type TestHost, testHost } from "#core/testing"
import { patiently } from "../../waiting.ts"

export interface PageRow {
  readonly id: string
  readonly values: Record<string, unknown>
}

export interface Published {
  readonly id: string
  readonly slug: string
  readonly path: string
}

export const desktopChrome =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
export const iphoneInstagram =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/22B83 Instagram 350.0.0.30.99 (iPhone15,2; iOS 18_1; en_US; en; scale=3.00; 1179x2556; 600000000)"

export class Loop {
  readonly host: TestHost
  #count = 0

  constructor(host: TestHost) {
    this.host = host
  }

  static async start(options: Parameters<typeof testHost>[0] = {}): Promise<Loop> {
    return new Loop(await testHost(options))
  }

  async call<T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.host.api<T>(method, path, body)
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  async publish(variants: object[] = [{ key: "control", html: "<h1>Hello</h1>" }], title = `Page ${++this.#count}`): Promise<Published> {
    const { id, slug } = await this.call<Published>("POST", "/v1/pages", { title, variants })
    await this.call("POST", `/v1/pages/${slug}/publish`)
    return { id, slug, path: `/p/${this.host.organization.slug}/${slug}` }
  }

  pipeline(page: Published): Promise<Record<string, unknown> & { inbound_url: string; slug: string; id: string }> {
    return this.call("GET", `/v1/event-pipelines/page-events-${page.slug}`)
  }

  async send(url: string, page: Published, body: object, headers: Record<string, string> = {}) {
    const { _envelope, ...rest } = body as { _envelope?: object }
    // After a test moves the clock, the service has lost contact with its peers for long.
    return await patiently(async () => {
      const response = await fetch(url, {
        method: "POST",
        headers: { "content-type": "text/plain;charset=UTF-8", "user-agent": desktopChrome, ...headers },
        body: JSON.stringify({ _envelope: { artifact_id: page.id, ..._envelope }, ...rest }),
      })
      return { status: response.status, body: (await response.json()) as Answer }
    })
  }

  async rows(filter: object = {}): Promise<Record<string, unknown>[]> {
    const query = new URLSearchParams({ filter: JSON.stringify(filter), limit: "200" })
    const { rows } = await this.call<{ rows: PageRow[] }>("GET", `/v1/datasets/page-events/rows?${query}`)
    return rows.map(({ values }) => values)
  }

  async rowOf({ event_id }: { readonly event_id: string }): Promise<Record<string, unknown> | undefined> {
    return (await this.rows({ event_id }))[0]
  }

  async executions(slug: string): Promise<Record<string, unknown>[]> {
    return (await this.call<{ executions: Record<string, unknown>[] }>("GET", `/v1/event-pipelines/${slug}/executions?limit=200`))
      .executions
  }
}

export interface Answer {
  readonly status?: string
  readonly code?: string
  readonly message?: string
  readonly results: Record<string, unknown>[]
  readonly details?: { readonly reason?: string; readonly results?: Record<string, unknown>[] }
}

let drawn = 0
/** Returns an id in the form of a browser's. */
export function eventId(): string {
  return `test${String(++drawn).padStart(12, "0")}`
}

export function event(kind: string, more: object = {}): { event: string; event_id: string } {
  return { event: kind, event_id: eventId(), ...more }
}

let agents = 0
/** A new user agent means a new visitor. */
export function someone(): { "user-agent": string } {
  return { "user-agent": `${desktopChrome} Visitor/${++agents}` }
}
