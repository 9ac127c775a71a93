// The newest entries of one pipeline or of all, in the order of receipt. Over all of them the journal is indexed by time and by
// cause alone, so that an event pays for few indexes: by status, and by test or not, what is asked for is read from each pipeline,
// no more of it than can be in the answer.
import type { Store } from "#core"
import { EntryCollection, type FindOptions, type JournalEntry } from "#core/engine"

export interface NewestArgs {
  readonly store: Store
  readonly organization: string
  /** All of the organization, where they are not given. */
  readonly pipelines: () => Promise<readonly string[]>
  readonly pipeline?: string | undefined
  readonly filter: EntryFilter
  /** `received_at` and id of the last entry that was seen. */
  readonly after?: FindOptions["after"] | undefined
  readonly limit: number
}

export interface EntryFilter {
  readonly status?: JournalEntry["status"] | undefined
  readonly cause?: string | undefined
  readonly is_test?: boolean | undefined
  /** Received at or after, and before. */
  readonly since?: string | undefined
  readonly until?: string | undefined
}

export const statuses = ["accepted", "rejected", "failed"] as const
const atOnce = 16
/** Of so few, each is read in full at once. */
const few = 8

type Part = Record<string, string | boolean>

/** Equalities of one index each: every entry that is asked for is in one of them. */
async function partsOf({ pipelines, pipeline, filter: { status, cause, is_test } }: NewestArgs): Promise<Part[]> {
  const tests = is_test === undefined ? [false, true] : [is_test]
  const one = pipeline === undefined ? {} : { pipeline_id: pipeline }
  // Few entries have a cause.
  if (cause !== undefined && pipeline === undefined)
    return [{ cause, ...(status === undefined ? {} : { status }), ...(is_test === undefined ? {} : { is_test }) }]
  const ofCause = cause === undefined ? {} : { cause }
  if (status === undefined && is_test === undefined && cause === undefined) return [one]
  const ids = pipeline === undefined ? await pipelines() : [pipeline]
  const each = status === undefined ? statuses : [status]
  return ids.flatMap((pipeline_id) =>
    each.flatMap((which) => tests.map((test) => ({ pipeline_id, status: which, is_test: test, ...ofCause }))),
  )
}

export async function newestEntries(args: NewestArgs): Promise<JournalEntry[]> {
  const { store, organization, filter, after, limit } = args
  const { since, until } = filter
  const entries = store.open(EntryCollection, organization)
  const parts = await partsOf(args)
  const read = (part: Part, least: string | undefined, count: number) => {
    const from = least !== undefined && (since === undefined || least > since) ? least : since
    const received_at = { ...(from !== undefined && { $gte: from }), ...(until !== undefined && { $lt: until }) }
    const where = from === undefined && until === undefined ? part : { ...part, received_at }
    return entries.find(where, { sort: { received_at: -1 }, limit: count, ...(after && { after }) })
  }
  if (parts.length <= few) return newestOf(await inTurns(parts, (part) => read(part, undefined, limit)), limit)
  const heads = await inTurns(parts, (part) => read(part, undefined, 1))
  // Each of the newest is as new as the last of the newest heads.
  const least = newestOf(heads, limit).at(limit - 1)?.received_at
  const wanted = parts.filter((_, at) => {
    const head = heads[at]?.[0]
    return head !== undefined && (least === undefined || head.received_at >= least)
  })
  return newestOf(await inTurns(wanted, (part) => read(part, least, limit)), limit)
}

function newestOf(found: readonly (readonly JournalEntry[])[], limit: number): JournalEntry[] {
  return found.flat().sort(newestFirst).slice(0, limit)
}

export function newestFirst(a: JournalEntry, b: JournalEntry): number {
  if (a.received_at !== b.received_at) return a.received_at < b.received_at ? 1 : -1
  return a.id < b.id ? 1 : -1
}

async function inTurns<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const worker = async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await run(items[at] as T)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker))
  return results
}
