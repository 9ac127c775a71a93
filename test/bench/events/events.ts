// Events among many: what it costs to index one, and how long it takes to find one by a piece of it and to list them.
import { Store, timestamp } from "#core"
import { EntryCollection, type JournalEntry } from "#core/engine"
import { type TestHost, testHost } from "#core/testing"
import { idAt } from "../../../core/kernel/ids.ts"
import { EventIndexPartCollection } from "../../../plugins/events/collections.ts"
import { BuilderToken } from "../../../plugins/events/finding/builder.ts"
import { sharedMongo } from "../../mongodb-server.ts"
import { randomFrom } from "../../random.ts"
import { type BenchOptions, wanted } from "../options.ts"
import { type Row, rowOf } from "../table.ts"

const goalMs = 100
const dayMs = 86_400_000
const pipelines = 500
const perCommit = 1_000
const runs = 60

export async function* eventRows(options: BenchOptions): AsyncGenerator<Row> {
  for (const store of ["sqlite", "mongodb"] as const) {
    if (wanted(options, `events/${store}/`)) yield* rowsOn(store, options)
  }
}

async function* rowsOn(store: "sqlite" | "mongodb", { events, note }: BenchOptions): AsyncGenerator<Row> {
  const env = store === "mongodb" ? { MILLRACE_STORAGE_URL: (await sharedMongo()).freshUrl() } : {}
  const host = await testHost({ env: { MILLRACE_LOG_LEVEL: "error", ...env } })
  try {
    note(`events/${store}: ${events} events of ${pipelines} pipelines in six days`)
    const began = Date.now() - 6 * dayMs
    const ids = await madePipelines(host)
    for (let made = 0; made < events; made += perCommit) await fill(host, ids, began, made, events)
    note(`events/${store}: indexing`)
    const before = process.cpuUsage()
    await host.get(BuilderToken).turn()
    const { user, system } = process.cpuUsage(before)
    const sizes = await sizeOfIndex(host)
    yield rowOf(
      `events/${store}/index`,
      "µs an event",
      [(user + system) / events],
      "",
      [],
      `${Math.round(sizes / events)} bytes each in the store`,
    )
    for (const [name, path] of queries(events, began)) {
      const took: number[] = []
      for (let run = -5; run < runs; run++) {
        const from = performance.now()
        const { status, body } = await host.api<{ events: unknown[] }>("GET", path(Math.abs(run)))
        if (status !== 200 || body.events.length === 0) throw new Error(`${name} answered ${status}: ${JSON.stringify(body).slice(0, 300)}`)
        if (run >= 0) took.push(performance.now() - from)
      }
      yield rowOf(`events/${store}/${name}`, "ms", took, "goal", [goalMs], `${events} events`)
    }
  } finally {
    await host.stop()
  }
}

type Path = (run: number) => string

function queries(events: number, began: number): [string, Path][] {
  const spread = (run: number) => Math.floor((run / runs) * (events - 1))
  const find =
    (text: (n: number) => string): Path =>
    (run) =>
      `/v1/events/find?text=${encodeURIComponent(text(spread(run)))}`
  const middle = timestamp(began + 3 * dayMs)
  return [
    ["find/order", find((n) => `A-${n}`)],
    ["find/email", find((n) => `ada.${n % 50_000}@example.com`)],
    ["find/url", find((n) => `https://shop.example.com/p/${n % 1_000}`)],
    ["find/common-words", find(() => "spring sale")],
    ["list", () => "/v1/events"],
    ["list/failed", () => "/v1/events?status=failed"],
    ["list/tests", () => "/v1/events?is_test=true"],
    ["list/cause", () => "/v1/events?cause=action_failed"],
    ["list/pipeline-failed", (run) => `/v1/events?pipeline=p-${run}&status=failed`],
    ["list/until", () => `/v1/events?until=${middle}`],
  ]
}

async function madePipelines(host: TestHost): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < pipelines; n++) {
    const given = { name: `P ${n}`, state: "active", source_kind: "internal", pipeline: [] }
    ids.push((await host.api<{ id: string }>("POST", "/v1/event-pipelines", given)).body.id)
  }
  return ids
}

async function fill(host: TestHost, ids: readonly string[], began: number, made: number, events: number): Promise<void> {
  const random = randomFrom(made + 1)
  const docs = Array.from({ length: Math.min(perCommit, events - made) }, (_, at) => {
    const n = made + at
    const time = began + Math.floor((n / events) * 6 * dayMs) - 600_000
    return entryOf(n, time, ids[n % ids.length] ?? "", random)
  })
  const organization = host.organization.id
  const writes = docs.map((doc) => ({ kind: "insert", collection: EntryCollection, organization, doc }) as const)
  await host.get(Store).commit({ id: `fill ${made}`, writes })
}

function entryOf(n: number, time: number, pipeline_id: string, random: () => number): JournalEntry {
  const at = timestamp(time)
  const hex = () =>
    Math.floor(random() * 2 ** 48)
      .toString(16)
      .padStart(12, "0")
  const id = `${idAt(time).slice(0, 14)}7${hex().slice(0, 3)}-8${hex().slice(0, 3)}-${hex()}`
  const event = {
    email: `ada.${n % 50_000}@example.com`,
    name: "Ada Lovelace",
    order: `A-${n}`,
    campaign: n % 50 === 0 ? "spring sale" : "none",
    budget: n % 9_973,
    page: `https://shop.example.com/p/${n % 1_000}?ref=${hex()}`,
  }
  const failed = n % 97 === 0
  const step = {
    type: "dataset.write",
    duration_ms: 0.12,
    result: { row_id: `${hex().slice(0, 8)}-${hex().slice(0, 4)}-8000-8000-${hex()}`, dataset_slug: "leads", created: true },
  }
  return {
    id,
    pipeline_id,
    pipeline_slug: `p-${n % pipelines}`,
    revision: 1,
    status: failed ? "failed" : "accepted",
    received_at: at,
    is_test: n % 211 === 0,
    ...(failed && {
      cause: n % 194 === 0 ? "action_failed" : "transform_failed",
      error: { code: "internal", message: "The step failed." },
    }),
    payload_preview: JSON.stringify(event),
    request: { headers: { "content-type": "application/json", "user-agent": "bench/1.0", "x-request-id": hex() } },
    response: { status: 200, body: JSON.stringify({ status: "accepted", execution_id: id }) },
    verdict: { ok: true, mode: "hmac_sha256", secret_id: "s_1" },
    transformed: event,
    steps: { save: step },
    timings: { verify: 0.05, sandbox: 0.4, run: 0.2 },
    digest: "sha256:0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a",
    expires_at: timestamp(time + 30 * dayMs),
  } as unknown as JournalEntry
}

async function sizeOfIndex(host: TestHost): Promise<number> {
  let bytes = 0
  for await (const { base64 } of host.get(Store).open(EventIndexPartCollection, host.organization.id).stream({})) bytes += base64.length
  return bytes
}
