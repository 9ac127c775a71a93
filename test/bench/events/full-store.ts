// A large organization's store in the service's stored form, without the events behind it: entries of many pipelines (half of one
// pipeline), their counts by the minute, and rows of a dataset.
import { Store, timestamp } from "#core"
import { EntryCollection, type JournalEntry } from "#core/engine"
import type { TestHost } from "#core/testing"
import { idAt } from "../../../core/kernel/ids.ts"
import { blockId, EventMinutes } from "../../../plugins/capture/pipeline-insights/activity/counter.ts"
import { blockOf, emptyMinute, minutesPerBlock, writeBlock } from "../../../plugins/capture/pipeline-insights/activity/counts.ts"
import { RowsCollection } from "../../../plugins/data/datasets/collections.ts"
import { DatasetsCollection } from "../../../plugins/data/datasets/dataset.ts"
import { rowIdOf } from "../../../plugins/data/datasets/row-identity.ts"
import { randomFrom } from "../../random.ts"

export interface Full {
  readonly events: number
  readonly rows: number
  /** Time of the first event, in Unix milliseconds. */
  readonly began: number
}

export const pipelines = 500
export const days = 6
const dayMs = 86_400_000
const perCommit = 1_000
const commitsAtOnce = 4
const emails = 50_000
const pages = 1_000

export const emailOf = (n: number) => `ada.${n % emails}@example.com`
export const orderOf = (n: number) => `A-${n}`
export const pageOf = (n: number) => `https://shop.example.com/p/${n % pages}`
export const requestIdOf = (n: number) => `req-${(n * 2_654_435_761 + 7).toString(36)}`
/** Occurs in a few of all events. */
export const rareWordOf = (n: number) => `voucher${Math.floor(n / 4)}`

export async function fillStore(host: TestHost, full: Full, note: (text: string) => void): Promise<void> {
  const ids: string[] = []
  for (let n = 0; n < pipelines; n++) {
    const input = { name: `P ${n}`, state: "active", source_kind: "internal", pipeline: [] }
    ids.push((await host.api<{ id: string }>("POST", "/v1/event-pipelines", input)).body.id)
  }
  await fillMinutes(host, ids)
  await fillRows(host, full, note)
  await inCommits(full.events, (from, count) => entries(host, ids, full, from, count), note, "events")
}

/** Calls `commit` with the first number and the count of each commit, several in parallel. */
async function inCommits(
  all: number,
  commit: (from: number, count: number) => Promise<void>,
  note: (text: string) => void,
  what: string,
): Promise<void> {
  let next = 0
  const worker = async () => {
    for (let from = next; from < all; from = next) {
      next += perCommit
      await commit(from, Math.min(perCommit, all - from))
      if (from % 500_000 === 0) note(`${from} of ${all} ${what}`)
    }
  }
  await Promise.all(Array.from({ length: commitsAtOnce }, worker))
}

async function entries(host: TestHost, ids: readonly string[], { events, began }: Full, first: number, count: number): Promise<void> {
  const random = randomFrom(first + 1)
  const organization = host.organization.id
  const writes = Array.from({ length: count }, (_, at) => {
    const n = first + at
    const pipeline = pipelineAt(n)
    const doc = entryOf(n, began + Math.floor((n / events) * days * dayMs), ids[pipeline] ?? "", pipeline, random)
    return { kind: "insert", collection: EntryCollection, organization, doc } as const
  })
  await host.get(Store).commit({ id: `fill ${first}`, writes })
}

/** Half of all events belong to the first pipeline. */
function pipelineAt(n: number): number {
  return n % 2 === 0 ? 0 : 1 + (((n - 1) / 2) % (pipelines - 1))
}

function entryOf(n: number, time: number, pipeline_id: string, pipeline: number, random: () => number): JournalEntry {
  const at = timestamp(time)
  const hex = () =>
    Math.floor(random() * 2 ** 48)
      .toString(16)
      .padStart(12, "0")
  const id = `${idAt(time).slice(0, 14)}7${hex().slice(0, 3)}-8${hex().slice(0, 3)}-${hex()}`
  const event = {
    email: emailOf(n),
    name: "Ada Lovelace",
    order: orderOf(n),
    campaign: n % 50 === 0 ? "spring sale" : "none",
    budget: n % 9_973,
    voucher: rareWordOf(n),
    page: `${pageOf(n)}?ref=${hex()}`,
  }
  const failed = n % 97 === 0
  const row_id = `${hex().slice(0, 8)}-${hex().slice(0, 4)}-8000-8000-${hex()}`
  return {
    id,
    pipeline_id,
    pipeline_slug: `p-${pipeline}`,
    revision: 1,
    status: failed ? "failed" : "accepted",
    received_at: at,
    is_test: n % 211 === 0,
    ...(failed && {
      cause: n % 194 === 0 ? "action_failed" : "transform_failed",
      error: { code: "internal", message: "The step failed." },
    }),
    payload_preview: JSON.stringify(event),
    request: { headers: { "content-type": "application/json", "user-agent": "bench/1.0", "x-request-id": requestIdOf(n) } },
    response: { status: 200, body: JSON.stringify({ status: "accepted", execution_id: id }) },
    verdict: { ok: true, mode: "hmac_sha256", secret_id: "s_1" },
    transformed: event,
    steps: { save: { type: "dataset.write", duration_ms: 0.12, result: { row_id, dataset_slug: "leads", created: true } } },
    timings: { verify: 0.05, sandbox: 0.4, run: 0.2 },
    digest: "sha256:0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a",
    expires_at: timestamp(time + 30 * dayMs),
  } as unknown as JournalEntry
}

/** One day, every pipeline in every minute. */
async function fillMinutes(host: TestHost, ids: readonly string[]): Promise<void> {
  const organization = host.organization.id
  const last = blockOf(Math.floor(host.clock.now() / 60_000))
  const latencies = emptyMinute.latencies.map((_none, bucket) => bucket)
  const inBlock = Array.from({ length: minutesPerBlock }, (_, at) => at)
  const pipelines = Object.fromEntries(
    ids.map((id, at) => [id, writeBlock(new Map(inBlock.map((minute) => [minute, [at === 0 ? 500 : 1, 0, at % 7 === 0 ? 1 : 0]])))]),
  )
  const writes = Array.from({ length: 1_440 / minutesPerBlock + 1 }, (_, at) => {
    const block = last - at
    const minutes = Object.fromEntries(inBlock.map((minute) => [block * minutesPerBlock + minute, { counts: [999, 0, 72], latencies }]))
    const expires_at = timestamp((block * minutesPerBlock + 1_500) * 60_000)
    const doc = { id: blockId(organization, block), version: 1, minutes, pipelines, expires_at }
    return { kind: "insert", collection: EventMinutes, organization, doc } as const
  })
  await host.get(Store).commit({ id: "minutes", writes })
}

/** Rows in the form of events, by their key. */
async function fillRows(host: TestHost, { rows, began }: Full, note: (text: string) => void): Promise<void> {
  const organization = host.organization.id
  const values = (n: number) => ({ email: `ada.${n}@example.com`, name: "Ada Lovelace", budget: (n * 7_919) % 100_000, order: orderOf(n) })
  await host.api("POST", "/v1/datasets", { name: "Leads", purpose: "Leads of a full store." })
  await host.api("POST", "/v1/datasets/leads/rows", { rows: [values(0)], key: "email" })
  const [dataset] = await host.get(Store).open(DatasetsCollection, organization).find({ slug: "leads" })
  if (!dataset) throw new Error("The dataset was not made.")
  const commit = async (from: number, count: number) => {
    const writes = Array.from({ length: count }, (_, at) => {
      const n = 1 + from + at
      const created_at = timestamp(began + Math.floor((n / rows) * days * dayMs))
      const id = rowIdOf(organization, dataset.id, values(n).email, undefined)
      const doc = {
        id,
        dataset_id: dataset.id,
        values: values(n),
        created_at,
        updated_at: created_at,
        position: `${created_at} ${idAt(began)}`,
      }
      return { kind: "insert", collection: RowsCollection, organization, doc } as const
    })
    await host.get(Store).commit({ id: `rows ${from}`, writes })
  }
  await inCommits(rows - 1, commit, note, "rows")
}
