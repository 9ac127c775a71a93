// What the live channel `executions` tells of an event once it is journalled; told again, it is the same.
import type { LiveMessage, PastMessage } from "../../contract/channel.ts"
import { idAt } from "../../kernel/ids.ts"
import type { JournalEntry } from "./entry.ts"

/** Without the payload. */
export function announcementOf(entry: JournalEntry): LiveMessage {
  const { id, pipeline_slug: pipeline, pipeline_id, status, cause, received_at, is_test, repeat_of, replay_of } = entry
  const step = entry.error?.step ?? null
  const data = { id, pipeline, pipeline_id, status, cause, step, received_at, is_test, repeat_of, replay_of }
  return { channel: "executions", event: "execution", data }
}

/** In the order of receipt, which the entry's own id need not be in. */
export function announcementId({ id, received_at }: Pick<JournalEntry, "id" | "received_at">): string {
  return idAt(Date.parse(received_at)).slice(0, 13) + id.slice(13)
}

/** The announcement of an entry, as it is told again. */
export function pastAnnouncement(entry: JournalEntry): PastMessage {
  const { event, data } = announcementOf(entry)
  return { id: announcementId(entry), event, data, at: entry.received_at }
}
