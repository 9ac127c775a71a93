// The live channel `executions`. Its messages are not kept: clients that lost their connection get them again from the journal.
import { defineChannel, type RecallArgs, type RecalledMessage, timestamp } from "#core"
import { EntryCollection, recalledAnnouncement } from "#core/engine"
import { Pipelines } from "./collections.ts"

/** Without payloads: what became of each event, as it is journalled. */
export const executionsChannel = defineChannel({
  name: "executions",
  summary: "Each event as it is journalled: pipeline, status, cause.",
  role: "guest",
  recall,
})

/** Each event once, as it is now: a change that was missed is not told apart. By pipeline, since entries are in the order of time by pipeline only. */
async function recall({ store, organization, since, most }: RecallArgs): Promise<RecalledMessage[]> {
  const entries = store.open(EntryCollection, organization)
  const received_at = { $gte: timestamp(since) }
  let found: RecalledMessage[] = []
  for await (const { id } of store.open(Pipelines, organization).stream({})) {
    const newest = await entries.find({ pipeline_id: id, received_at }, { sort: { received_at: -1 }, limit: most })
    found = [...found, ...newest.map(recalledAnnouncement)].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, most)
  }
  return found
}
