// Checks the books of a service after kills, through the public API: acknowledged events against the journal, the rows, the jobs
// and the peer's calls.
import type { Peer } from "./peer.ts"
import { notifyEvery } from "./sender.ts"
import type { Api } from "./service-process.ts"

/** Events sent to one data folder, over all its kills. */
export interface Sent {
  /** Execution id by number of the event. */
  readonly acknowledged: ReadonlyMap<number, string>
  readonly unanswered: ReadonlySet<number>
  /** Answers other than 2xx, by number of the event. */
  readonly refused: ReadonlyMap<number, number>
}

export interface Findings {
  readonly problems: readonly string[]
  readonly entries: number
  /** Unanswered events that were stored completely. */
  readonly kept: number
  /** Repeated calls for the same event. */
  readonly repeatedCalls: number
}

interface Entry {
  readonly id: string
  readonly payload_preview: string
}

export interface Shelves {
  readonly pipeline: string
  /** A dataset with a row per event, and a dataset with a row per email. */
  readonly unkeyed: string
  readonly keyed: string
}

const visibleCount = 5

export async function checkBooks(api: Api, shelves: Shelves, message: Sent, peer: Pick<Peer, "calls">): Promise<Findings> {
  const entries = await entriesOf(api, shelves.pipeline)
  const [lines, leads] = await Promise.all([rowsOf(api, shelves.unkeyed), rowsOf(api, shelves.keyed)])
  const failed = await api<{ executions: { cause: string }[] }>(
    "GET",
    `/v1/event-pipelines/${shelves.pipeline}/executions?status=failed&limit=200`,
  )
  const problems =
    failed.executions.length > 0 ? [`${failed.executions.length} failed executions, such as: ${failed.executions[0]?.cause}`] : []
  const complain = (what: string, numbers: readonly number[]) => {
    if (numbers.length > 0) problems.push(`${numbers.length} ${what} (${numbers.slice(0, visibleCount).join(", ")})`)
  }
  const existing = [...entries.keys()]
  const acknowledged = [...message.acknowledged]
  complain(
    "acknowledged events without their entry",
    acknowledged.filter(([n, id]) => !entries.get(n)?.includes(id)).map(([n]) => n),
  )
  complain(
    "events with more than one entry",
    existing.filter((n) => (entries.get(n)?.length ?? 0) > 1),
  )
  complain(
    "entries of events that were never sent",
    existing.filter((n) => !message.acknowledged.has(n) && !message.unanswered.has(n)),
  )
  complain(
    "refused events with an entry",
    existing.filter((n) => message.refused.has(n)),
  )
  for (const [name, rows] of [
    [shelves.unkeyed, lines],
    [shelves.keyed, leads],
  ] as const) {
    complain(
      `entries without a row in ${name}`,
      existing.filter((n) => !rows.has(n)),
    )
    complain(
      `events with more than one row in ${name}`,
      [...rows].flatMap(([n, count]) => (count > 1 ? [n] : [])),
    )
    complain(
      `rows in ${name} without an entry`,
      [...rows.keys()].filter((n) => !entries.has(n)),
    )
  }
  const owed = existing.filter((n) => n % notifyEvery === 0)
  complain(
    "events whose call never came",
    owed.filter((n) => !peer.calls.has(n)),
  )
  complain(
    "calls of events without an entry, or that ask for none",
    [...peer.calls.keys()].filter((n) => !entries.has(n) || n % notifyEvery !== 0),
  )
  complain(
    "events called with several idempotency keys",
    [...peer.calls].flatMap(([n, keys]) => (new Set(keys).size > 1 ? [n] : [])),
  )
  const repeatedCalls = [...peer.calls.values()].reduce((sum, keys) => sum + keys.length - 1, 0)
  const storedCount = existing.filter((n) => message.unanswered.has(n)).length
  return { problems, entries: existing.length, kept: storedCount, repeatedCalls }
}

/** Resolves when all deferred work is done. Returns its problems: a dead job, or no finished job for this long. */
export async function jobsSettled(api: Api, patienceMs = 300_000): Promise<string[]> {
  let fewest = Number.POSITIVE_INFINITY
  let since = performance.now()
  for (;;) {
    const { jobs: dead } = await api<{ jobs: { last_error: string | null }[] }>("GET", "/v1/jobs?limit=200&state=dead")
    if (dead.length > 0) return [`${dead.length} dead jobs, such as: ${dead[0]?.last_error}`]
    const waiting = Number(/^millrace_jobs\{state="queued"\} (\d+)$/m.exec(await api.text("/metrics"))?.[1])
    if (waiting === 0) return []
    if (waiting < fewest) {
      fewest = waiting
      since = performance.now()
    }
    if (performance.now() - since > patienceMs) return [`${waiting} jobs are still waiting, and none was done for ${patienceMs} ms`]
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Returns ids of the accepted entries by number of the event. */
async function entriesOf(api: Api, pipeline: string): Promise<Map<number, string[]>> {
  const matches = new Map<number, string[]>()
  let cursor = ""
  do {
    const page = await api<{ executions: Entry[]; next_cursor: string }>(
      "GET",
      `/v1/event-pipelines/${pipeline}/executions?status=accepted&limit=200&cursor=${encodeURIComponent(cursor)}`,
    )
    for (const { id, payload_preview } of page.executions) {
      const n = Number(/"n":(\d+)/.exec(payload_preview)?.[1])
      if (Number.isNaN(n)) throw new Error(`An entry is of no event that was sent: ${id} ${payload_preview}`)
      matches.set(n, [...(matches.get(n) ?? []), id])
    }
    cursor = page.next_cursor
  } while (cursor !== "")
  return matches
}

/** Returns rows by number of the event. */
async function rowsOf(api: Api, dataset: string): Promise<Map<number, number>> {
  const matches = new Map<number, number>()
  const text = await api.text(`/v1/datasets/${dataset}/export?format=ndjson`)
  for (const line of text.split("\n").filter(Boolean)) {
    const { n } = (JSON.parse(line) as { values: { n: number } }).values
    matches.set(n, (matches.get(n) ?? 0) + 1)
  }
  return matches
}
