// The live channel `executions`. Messages are not stored: after a lost connection, clients receive missed events from the
// journal.
import { z } from "zod"
import { defineChannel, timestamp } from "#core"
import { type HistoryArgs, type JournalEntry, type PastMessage, pastAnnouncement } from "#core/engine"
import { Pipelines } from "./collections.ts"
import { newestEntries, statuses } from "./newest-entries.ts"

/** Announces the outcome of each journalled event, without payloads. */
export const executionsChannel = defineChannel({
  name: "executions",
  scope: "event_pipelines:read",
  summary: "Every event when it is journalled: pipeline, status, cause.",
  role: "guest",
  filters: { pipeline: z.string().describe("Slug."), status: z.enum(statuses), cause: z.string(), is_test: z.boolean() },
  history,
})

/** Returns each event once in its current state. Intermediate changes are lost. */
async function history({ store, organization, since, limit, filter }: HistoryArgs): Promise<PastMessage[]> {
  const { pipeline: slug, ...by } = filter as { pipeline?: string; status?: JournalEntry["status"]; cause?: string; is_test?: boolean }
  const records = store.open(Pipelines, organization)
  const pipeline = slug === undefined ? undefined : await records.first({ slug })
  if (slug !== undefined && !pipeline) return []
  const pipelines = async () => {
    const ids: string[] = []
    for await (const { id } of records.stream({})) ids.push(id)
    return ids
  }
  const found = await newestEntries({
    store,
    organization,
    pipelines,
    pipeline: pipeline?.id,
    filter: { ...by, since: timestamp(since) },
    limit,
  })
  return found.map(pastAnnouncement)
}
