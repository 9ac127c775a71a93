// The live channel `executions`. Its messages are not kept: clients that lost their connection get them again from the journal.
import { defineChannel, timestamp } from "#core"
import { EntryCollection, type HistoryArgs, type PastMessage, pastAnnouncement } from "#core/engine"
import { Pipelines } from "./collections.ts"

/** Without payloads: what became of each event, as it is journalled. */
export const executionsChannel = defineChannel({
  name: "executions",
  summary: "Every event when it is journalled: pipeline, status, cause.",
  role: "guest",
  history,
})

/** Each event once, as it is now: a change that was missed is not told apart. By pipeline, since entries are in the order of time by pipeline only. */
async function history({ store, organization, since, limit }: HistoryArgs): Promise<PastMessage[]> {
  const entries = store.open(EntryCollection, organization)
  const received_at = { $gte: timestamp(since) }
  let found: PastMessage[] = []
  for await (const { id } of store.open(Pipelines, organization).stream({})) {
    const newest = await entries.find({ pipeline_id: id, received_at }, { sort: { received_at: -1 }, limit })
    found = [...found, ...newest.map(pastAnnouncement)].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit)
  }
  return found
}
