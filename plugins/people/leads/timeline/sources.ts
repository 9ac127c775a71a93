// The timeline of a lead, an extension point. Each source returns its entries of a lead.
import { type Collection, type Document, defineExtensionPoint, type Json } from "#core"
import type { StoredLead } from "../collections.ts"

/** A timeline step. `id` is the id of the document behind the entry. */
export interface TimelineEntry extends Document {
  /** RFC 3339. */
  at: string
  /** `<area>.<event>`, such as `chat_app.message_received`. */
  kind: string
  /** A sentence for users. */
  summary: string
  /** Ids and other evidence. */
  evidence: Record<string, Json>
}

/** The people and the page of a query, in the form of the store's `find`. */
export interface TimelineQuery {
  readonly organization: string
  /** The lead and all leads merged into it. */
  readonly leadIds: readonly string[]
  readonly emails: readonly string[]
  /** E.164. */
  readonly phones: readonly string[]
  readonly limit: number
  /** `at` and `id` of the last entry of the previous page, if any. Keyset paging by `at`, then `id`, both descending. */
  readonly after?: readonly [string, string]
}

/** Returns the newest entries of these people, at most `limit`, by `at` and `id` descending. */
export type LeadTimelineSource = (query: TimelineQuery) => Promise<readonly TimelineEntry[]>

export const LeadTimeline = defineExtensionPoint<LeadTimelineSource>({ id: "leads.timeline" })

/** Returns the entries of all sources, newest first. */
async function timelineEntries(sources: readonly LeadTimelineSource[], query: TimelineQuery): Promise<readonly TimelineEntry[]> {
  const all = (await Promise.all(sources.map((source) => source(query)))).flat()
  return all.sort(newestFirst).slice(0, query.limit)
}

export function newestFirst(one: Pick<TimelineEntry, "at" | "id">, other: Pick<TimelineEntry, "at" | "id">): number {
  if (one.at !== other.at) return one.at < other.at ? 1 : -1
  if (one.id === other.id) return 0
  return one.id < other.id ? 1 : -1
}

/** A timeline as a collection for a Pager, so its cursors work as in other lists. */
export function timelineOf(
  timeline: readonly LeadTimelineSource[],
  organization: string,
  lead: StoredLead,
  leadIds: readonly string[],
): Collection<TimelineEntry> {
  const { emails, phones } = lead
  return {
    async find(_filter, { limit = 50, after } = {}) {
      const [at, id] = after ?? []
      const from = typeof at === "string" && typeof id === "string" ? { after: [at, id] as const } : {}
      return [...(await timelineEntries(timeline, { organization, leadIds, emails, phones, limit, ...from }))]
    },
    get: unsupported,
    first: unsupported,
    count: unsupported,
    stream: unsupported,
  }
}

function unsupported(): never {
  throw new Error("A timeline is read page by page alone.")
}
