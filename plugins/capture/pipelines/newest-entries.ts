// Reads the newest entries of one pipeline or all pipelines, in order of receipt. Over all pipelines, the journal has one index
// by time. Further indexes cover only failed, rejected and test entries, so most events pay for few indexes. Accepted entries are
// first looked for among the latest entries. If the latest have too few, the pipelines are read group by group, with at most
// `limit` entries each.
import type { Store } from "#core"
import { allDone } from "#core"
import { EntryCollection, type FindOptions, type JournalEntry } from "#core/engine"

export interface NewestArgs {
  readonly store: Store
  readonly organization: string
  /** Returns all pipelines of the organization. Called if `pipeline` is absent. */
  readonly pipelines: () => Promise<readonly string[]>
  readonly pipeline?: string | undefined
  readonly filter: EntryFilter
  /** `received_at` and ID of the last entry on the previous page. */
  readonly after?: FindOptions["after"] | undefined
  readonly limit: number
}

export interface EntryFilter {
  readonly status?: JournalEntry["status"] | undefined
  readonly cause?: string | undefined
  readonly is_test?: boolean | undefined
  /** Received at or after `since`, and before `until`. */
  readonly since?: string | undefined
  readonly until?: string | undefined
}

export const statuses = ["accepted", "rejected", "failed"] as const
/** Bound on the values of an index in one query. Both stores merge lists of this length in the order of the next index field. */
const pipelinesAtOnce = 32
const readsAtOnce = 2
/** With at most this many parts, reading the latest entries first does not help. */
const few = 8

/** Equality conditions for one index. The parts of a query together cover every matching entry. */
type Part = Record<string, string | boolean | { readonly $in: string[] }>

async function partsOf({ pipelines, pipeline, filter: { status, cause, is_test } }: NewestArgs): Promise<Part[]> {
  const given = {
    ...(cause !== undefined && { cause }),
    ...(status !== undefined && { status }),
    ...(is_test !== undefined && { is_test }),
  }
  const one = pipeline === undefined ? {} : { pipeline_id: pipeline }
  // Few entries have a cause, and fewer are tests.
  if (Object.keys(given).length === 0 || (cause !== undefined && is_test !== true)) return [{ ...one, ...given }]
  // Accepted entries have no cause.
  const each = (status === undefined ? statuses : [status]).filter((which) => cause === undefined || which !== "accepted")
  const tests = is_test === undefined ? [false, true] : [is_test]
  const parts: Part[] = []
  for (const which of each) {
    for (const test of tests) {
      const isListed = pipeline === undefined && which === "accepted" && !test
      const of = isListed ? listsOf(await pipelines()).map(($in) => ({ pipeline_id: { $in } })) : [one]
      for (const some of of) parts.push({ ...some, ...given, status: which, is_test: test })
    }
  }
  return parts
}

function listsOf(ids: readonly string[]): string[][] {
  return Array.from({ length: Math.ceil(ids.length / pipelinesAtOnce) }, (_, at) =>
    ids.slice(at * pipelinesAtOnce, (at + 1) * pipelinesAtOnce),
  )
}

export async function newestEntries(args: NewestArgs): Promise<JournalEntry[]> {
  const { store, organization, filter, after, limit } = args
  const { since = "", until } = filter
  const entries = store.open(EntryCollection, organization)
  // The cursor also bounds the range, as the start of the index scan.
  const end = after ? { $lte: String(after[0]) } : until === undefined ? {} : { $lt: until }
  const read = (part: Part, from: string, count: number) => {
    const received_at = { ...(from !== "" && { $gte: from }), ...end }
    const where = Object.keys(received_at).length === 0 ? part : { ...part, received_at }
    return entries.find(where, { sort: { received_at: -1 }, limit: count, ...(after && { after }) })
  }
  const parts = await partsOf(args)
  if (parts.length > few) {
    // The latest entries often contain enough matches.
    const latest = await read({}, since, 2 * limit)
    const wanted = latest.filter((entry) => isOf(entry, filter))
    if (wanted.length >= limit || latest.length < 2 * limit) return wanted.slice(0, limit)
  }
  let found: JournalEntry[] = []
  let next = 0
  const readParts = async () => {
    for (let part = parts[next++]; part !== undefined; part = parts[next++]) {
      const least = found.at(limit - 1)?.received_at
      const newer = await read(part, least ?? since, limit)
      // An entry may be in two parts if its status changed between two reads.
      const each = new Map([...found, ...newer].map((entry) => [entry.id, entry]))
      found = [...each.values()].sort(newestFirst).slice(0, limit)
    }
  }
  await allDone(Array.from({ length: readsAtOnce }, readParts))
  return found
}

function isOf(entry: JournalEntry, { status, cause, is_test }: EntryFilter): boolean {
  return (
    (status === undefined || entry.status === status) &&
    (cause === undefined || entry.cause === cause) &&
    (is_test === undefined || entry.is_test === is_test)
  )
}

export function newestFirst(a: JournalEntry, b: JournalEntry): number {
  if (a.received_at !== b.received_at) return a.received_at < b.received_at ? 1 : -1
  return a.id < b.id ? 1 : -1
}
