// Common steps of pipeline tests, through the public API: create a pipeline, post to it, read its journal and rows.
// Also counts all documents that an event can create.

import { type Json, Store } from "#core"
import type { TestHost } from "#core/testing"
import { JobCollection } from "../../core/jobs/jobs-collection.ts"
import { EntryCollection, IntentCollection, PayloadCollection, SeenCollection } from "../../core/pipeline/journal/collections.ts"
import type { JournalEntry } from "../../core/pipeline/journal/entry.ts"
import { deferredJob } from "../../core/pipeline/run/deferred.ts"
import { LiveMessages } from "../../core/surface/live/messages.ts"
import { RowsCollection } from "../../plugins/data/datasets/collections.ts"

export interface Made {
  readonly id: string
  readonly slug: string
  readonly state: string
  readonly purpose: string
  readonly inbound_url: string
  readonly endpoint_id: string
  readonly revision: number
  readonly secret?: string
  readonly warnings: string[]
  readonly created_datasets: string[]
  readonly write_target_datasets: string[]
  readonly auth_mode: string
  readonly auth_config: Record<string, unknown>
}

export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The text as JSON, or the text itself if it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: an answer is what the test expects it to be.
  readonly body: any
}

export type Entry = Omit<JournalEntry, "organization_id">

export class Bench {
  readonly host: TestHost

  constructor(host: TestHost) {
    this.host = host
  }

  get #store() {
    return this.host.get(Store)
  }

  /** Creates an active pipeline without authentication, unless the document overrides it. */
  async make(document: object): Promise<Made> {
    const { status, body } = await this.save(document)
    if (status !== 200) throw new Error(`not saved: ${JSON.stringify(body)}\n${status >= 500 ? this.host.logged.at(-1) : ""}`)
    return body as unknown as Made
  }

  save(document: object) {
    return this.host.api("POST", "/v1/event-pipelines", { state: "active", auth_mode: "none", ...document })
  }

  async entries(slug: string, query = ""): Promise<Entry[]> {
    const { body } = await this.host.api<{ executions: Entry[] }>("GET", `/v1/event-pipelines/${slug}/executions${query}`)
    return body.executions
  }

  async entry(slug: string, id: string): Promise<Entry> {
    const { status, body } = await this.host.api<Entry>("GET", `/v1/event-pipelines/${slug}/executions/${id}`)
    if (status !== 200) throw new Error(`no execution ${id}: ${JSON.stringify(body)}`)
    return body
  }

  async newest(slug: string): Promise<Entry> {
    const [first] = await this.entries(slug)
    if (!first) throw new Error(`${slug} has no executions`)
    return this.entry(slug, first.id)
  }

  /** Polls until the entry matches. The test's own timeout ends the wait. */
  async entryWhen(slug: string, id: string, holds: (entry: Entry) => boolean): Promise<Entry> {
    for (;;) {
      const entry = await this.entry(slug, id)
      if (holds(entry)) return entry
      await turn()
    }
  }

  async rows(dataset: string): Promise<{ id: string; values: Record<string, Json> }[]> {
    const { body } = await this.host.api<{ rows: { id: string; values: Record<string, Json> }[] }>(
      "GET",
      `/v1/datasets/${dataset}/rows?limit=200`,
    )
    return body.rows
  }

  /** Counts every kind of document that an event can create. */
  async books(): Promise<Record<"entries" | "rows" | "payloads" | "jobs" | "messages" | "seen" | "intents", number>> {
    const { id } = this.host.organization
    const [entries, rows, apart, within, jobs, messages, count, intents] = await Promise.all([
      this.#store.open(EntryCollection, id).count({}),
      this.#store.open(RowsCollection, id).count({}),
      this.#store.open(PayloadCollection, id).count({}),
      this.#store.open(EntryCollection, id).count({ request: { $ne: null } }),
      // Excludes jobs of schedules and of row followers, and schema warnings: their times are independent of the event.
      this.#store.open(JobCollection).count({ type: deferredJob.type }),
      this.#store.open(LiveMessages, id).count({ channel: { $ne: "schema_drift" } }),
      this.#store.open(SeenCollection, id).count({}),
      this.#store.open(IntentCollection, id).count({}),
    ])
    return { entries, rows, payloads: apart + within, jobs, messages, seen: count, intents }
  }

  jobs() {
    return this.#store.open(JobCollection).find({})
  }
}

export async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Answered> {
  const raw = typeof body === "string" || body instanceof Uint8Array
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: raw ? (body as string) : JSON.stringify(body),
  })
  return answered(answer)
}

export async function answered(answer: Response): Promise<Answered> {
  const text = await answer.text()
  let body: unknown = text
  try {
    body = JSON.parse(text)
  } catch {
    // Text other than JSON is returned unchanged.
  }
  return { status: answer.status, headers: answer.headers, text, body }
}

export function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5))
}
