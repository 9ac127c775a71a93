// Counts of one day (UTC), such as the invitations of an organization. Each count is a stored document, so a limit is exact on
// several nodes.
import type { Collection, Document, StagedCollection } from "#core"
import { timestamp } from "#core"

export interface DayCount extends Document {
  count: number
  expires_at: string
}

interface DayLimit {
  readonly now: number
  readonly limit: number
  idOf(day: string): string
  readonly stored: Collection<DayCount>
  readonly staged: StagedCollection<DayCount>
}

const dayMs = 86_400_000

/** Stages one more. Returns the seconds until the next day if the limit is reached. The last place of a day has one winner. */
export async function countToday({ now, limit, idOf, stored, staged }: DayLimit): Promise<number | undefined> {
  const day = Math.floor(now / dayMs)
  const id = idOf(String(day))
  const count = (await stored.get(id))?.count
  if ((count ?? 0) >= limit) return Math.ceil(((day + 1) * dayMs - now) / 1_000)
  if (count === undefined) staged.insert({ id, count: 0, expires_at: timestamp((day + 2) * dayMs) }, { ifPresent: "keep" })
  staged.update(id, { $inc: { count: 1 } }, { where: { count: { $lt: limit } } })
  return undefined
}
