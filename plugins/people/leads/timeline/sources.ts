// The timeline of a lead, an extension point. Each source returns its entries of a lead.
import { type Collection, type Document, defineExtensionPoint, type Json } from "#core"
import type { StoredLead } from "../collections.ts"

/** One step; `id` is the document's that tells of it. */
export interface TimelineEntry extends Document {
  /** RFC 3339. */
  at: string
  /** `<area>.<what happened>`, such as `chat_app.message_received`. */
  kind: string
  /** A sentence for people. */
  summary: string
  /** Ids and what else proves it. */
  evidence: Record<string, Json>
}

/** Of whom, and which part: as the store's `find` takes it. */
export interface TimelineQuery {
  readonly organization: string
  /** The lead, and those that were merged into it. */
  readonly leadIds: readonly string[]
  readonly emails: readonly string[]
  /** E.164. */
  readonly phones: readonly string[]
  readonly limit: number
  /** `at` and `id` of the last entry seen, where there is one: keyset paging by `at`, then `id`, both descending. */
  readonly after?: readonly [string, string]
}

/** The newest entries of those people, at most `limit`, by `at` and `id` descending. */
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

/** A timeline as a collection that a Pager reads: its cursors are then like those of every list. */
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
