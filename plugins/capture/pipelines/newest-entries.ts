// The newest entries of one pipeline or of all, in the order of receipt. Over all of them the journal is indexed by time, and what
// failed, was rejected or is a test also by that, so that most events pay for few indexes. Accepted ones alone, where they are not
// what most of the latest are, are read from some pipelines after the other, no more of them than can be in the answer.
import type { Store } from "#core"
import { allDone } from "#core"
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
/** Lists of an index's values that both stores merge in the order of the index behind them. */
const pipelinesAtOnce = 32
const readsAtOnce = 2
/** Of so few, nothing is gained by looking at the latest first. */
const few = 8

/** Equalities of one index each, and pipelines: every entry that is asked for is in one of them. */
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
  // What was accepted has no cause.
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
  // A place in the list is an end of the range as well, at which the search in an index begins.
  const end = after ? { $lte: String(after[0]) } : until === undefined ? {} : { $lt: until }
  const read = (part: Part, from: string, count: number) => {
    const received_at = { ...(from !== "" && { $gte: from }), ...end }
    const where = Object.keys(received_at).length === 0 ? part : { ...part, received_at }
    return entries.find(where, { sort: { received_at: -1 }, limit: count, ...(after && { after }) })
  }
  const parts = await partsOf(args)
  if (parts.length > few) {
    // Enough of the latest are what is asked for, where that is what most are.
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
      // One whose status changed meanwhile may be in two of them.
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
