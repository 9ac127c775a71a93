// A timeline as a collection that a Pager reads: its cursors are then like those of every list.
import type { Collection } from "#core"
import type { StoredLead } from "../collections.ts"
import { type LeadTimelineSource, type TimelineEntry, timelineEntries } from "./sources.ts"

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
