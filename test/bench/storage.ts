// What a durable commit costs the embedded store, by thread: 64 commits under way, each a journal entry, a kept payload
// and a keyed row with a random id, as an inbound event leaves them. CPU time, not wall time, is what is compared; beside
// it a bare node:sqlite script that writes the same text into three plain tables. `node test/bench/storage.ts` runs it alone.
import { randomBytes, randomUUID } from "node:crypto"
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, readSync, rmSync } from "node:fs"
import { join, resolve } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Document, Json } from "../../core/contract/collection.ts"
import type { Commit, MergeWrite } from "../../core/contract/store.ts"
import { systemClock, timestamp } from "../../core/kernel/clock.ts"
import { timeOrderedIds } from "../../core/kernel/ids.ts"
import { EntryCollection, PayloadCollection } from "../../core/pipeline/journal/entry.ts"
import { createSqliteDriver } from "../../core/storage/sqlite/driver.ts"
import { createStore } from "../../core/storage/store.ts"
import { RowsCollection } from "../../plugins/datasets/collections.ts"
import { type Row, rowOf } from "./table.ts"

export interface StorageBenchOptions {
  readonly only: string
  readonly seconds: number
  readonly runs: number
}

/** Under way at once. */
const connections = 64
/** Compilation dominates the first seconds. */
const warmSeconds = 8

export async function* storageRows({ only, seconds, runs }: StorageBenchOptions): AsyncGenerator<Row> {
  if (!["storage/writer", "storage/main"].some((name) => name.startsWith(only))) return
  const folder = mkdtempSync(join(resolve(import.meta.dirname, "../.."), "data-bench-"))
  try {
    const measured = await measureStore(join(folder, "ours.db"), seconds, runs)
    const peer = measureBare(join(folder, "bare.db"), seconds, runs)
    const [first] = measured
    const note = measured
      .map(
        (run) => `${Math.round(run.perSecond)}/s p50 ${run.p50.toFixed(2)} p99 ${run.p99.toFixed(2)} ms WAL ${Math.round(run.walBytes)} B`,
      )
      .join("; ")
    yield rowOf(
      "storage/writer",
      "CPU µs/event",
      measured.map((run) => run.writer),
      "bare node:sqlite",
      peer,
      note,
    )
    yield rowOf(
      "storage/main",
      "CPU µs/event",
      measured.map((run) => run.main),
      "bare node:sqlite",
      peer,
      `groups of ${Math.round(first?.group ?? 0)}`,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Measured {
  /** CPU microseconds an event, by thread; the main thread's less what making the documents takes. */
  readonly writer: number
  readonly main: number
  readonly perSecond: number
  /** Milliseconds that a group takes. */
  readonly p50: number
  readonly p99: number
  /** Commits of a group, on average. */
  readonly group: number
  readonly walBytes: number
}

async function measureStore(file: string, seconds: number, runs: number): Promise<Measured[]> {
  let groups: number[] = []
  let frames: WalFrames | undefined
  const store = createStore({
    driver: createSqliteDriver({ file }),
    collections: [EntryCollection, PayloadCollection, RowsCollection],
    clock: systemClock,
    observe({ milliseconds }) {
      groups.push(milliseconds)
      frames?.look()
    },
  })
  await store.start()
  const results: Measured[] = []
  try {
    await commitFor(store, warmSeconds * 1_000)
    frames = new WalFrames(file)
    for (let run = 0; run < runs; run++) {
      const making = costOf(eventOf)
      groups = []
      frames.reset()
      const writer = cpuOf("millrace-writer")
      const main = process.threadCpuUsage()
      const started = performance.now()
      const events = await commitFor(store, seconds * 1_000)
      const elapsed = performance.now() - started
      const used = process.threadCpuUsage(main)
      const sorted = groups.sort((a, b) => a - b)
      results.push({
        writer: (cpuOf("millrace-writer") - writer) / events,
        main: (used.user + used.system) / events - making,
        perSecond: (events / elapsed) * 1_000,
        p50: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN,
        p99: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN,
        group: events / groups.length,
        walBytes: frames.bytes / events,
      })
    }
  } finally {
    frames?.close()
    await store.stop()
  }
  return results
}

async function commitFor(store: { commit(commit: Commit): Promise<unknown> }, milliseconds: number): Promise<number> {
  const until = performance.now() + milliseconds
  let events = 0
  const connection = async () => {
    while (performance.now() < until) {
      await store.commit(eventOf())
      events++
    }
  }
  await Promise.all(Array.from({ length: connections }, connection))
  return events
}

/** CPU microseconds that something takes, over many: the kernel brings a thread's account up to date only now and then. */
function costOf(make: () => unknown): number {
  const count = 20_000
  const kept: unknown[] = new Array(connections)
  const before = process.threadCpuUsage()
  for (let index = 0; index < count; index++) kept[index % connections] = make()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / count
}

/** The same text into three plain tables with the same keys, one transaction for each group; CPU microseconds an event. */
function measureBare(file: string, seconds: number, runs: number): number[] {
  const database = new DatabaseSync(file)
  database.exec("PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-65536")
  const inserts = [EntryCollection, PayloadCollection, RowsCollection].map(({ name, indexes }) => {
    database.exec(`CREATE TABLE ${name}(org TEXT, id TEXT, data TEXT, PRIMARY KEY(org,id))`)
    for (const [index, { fields }] of indexes.entries()) {
      const keys = fields.map((field) => (field === "id" ? field : `json_extract(data,'$.${field}')`))
      database.exec(`CREATE INDEX ${name}_${index} ON ${name}(org,${keys.join(",")})`)
    }
    return database.prepare(`INSERT INTO ${name} VALUES(?,?,?)`)
  })
  const textsOf = () => eventOf().writes.map((write) => ("doc" in write ? [write.doc.id, JSON.stringify(write.doc)] : []))
  const bare = (milliseconds: number): number => {
    const making = costOf(textsOf)
    const before = process.threadCpuUsage()
    let events = 0
    for (const until = performance.now() + milliseconds; performance.now() < until; events += connections) {
      const group = Array.from({ length: connections }, textsOf)
      database.exec("BEGIN IMMEDIATE")
      for (const texts of group) for (const [index, [id = "", data = ""]] of texts.entries()) inserts[index]?.run(organization, id, data)
      database.exec("COMMIT")
    }
    const { user, system } = process.threadCpuUsage(before)
    return (user + system) / events - making
  }
  try {
    bare(warmSeconds * 500)
    return Array.from({ length: runs }, () => bare(seconds * 1_000))
  } finally {
    database.close()
  }
}

/** CPU microseconds that the threads of this name have used so far, as Linux counts them. */
function cpuOf(name: string): number {
  let microseconds = 0
  for (const thread of readdirSync("/proc/self/task")) {
    const folder = `/proc/self/task/${thread}`
    if (readFileSync(`${folder}/comm`, "utf8").trim() !== name) continue
    microseconds += Number(readFileSync(`${folder}/schedstat`, "utf8").split(" ")[0]) / 1_000
  }
  return microseconds
}

/** Counts the frames that pass through a write-ahead log, by the header of its index (`mxFrame`, page size). */
class WalFrames {
  readonly #index: number
  readonly #header = Buffer.alloc(48)
  #last = 0
  #frames = 0

  constructor(file: string) {
    this.#index = openSync(`${file}-shm`, "r")
  }

  get bytes(): number {
    return this.#frames * (this.#header.readUInt16LE(14) + 24)
  }

  look(): void {
    readSync(this.#index, this.#header, 0, 48, 0)
    const frames = this.#header.readUInt32LE(16)
    this.#frames += frames >= this.#last ? frames - this.#last : frames
    this.#last = frames
  }

  reset(): void {
    this.look()
    this.#frames = 0
  }

  close(): void {
    closeSync(this.#index)
  }
}

const organization = randomUUID()
const pipeline = randomUUID()
const dataset = randomUUID()
const ids = timeOrderedIds(systemClock)
const month = 30 * 86_400_000

/** The commit of one event: entry of 1.9 KB, payload of 580 B, row of 570 B. */
function eventOf(): Commit {
  const id = ids.uuid()
  const now = Date.now()
  const at = timestamp(now)
  const lead = {
    email: `${randomBytes(6).toString("hex")}@example.com`,
    name: "Ada Lovelace",
    company: "Analytical Engines Ltd",
    budget: 12_500,
    message: "x".repeat(120),
    tags: ["demo", "pricing"],
    consent: true,
  }
  const rowId = uuidOf(randomBytes(16).toString("hex"))
  const position = `${at}/${id}`
  const row: MergeWrite["doc"] = {
    id: rowId,
    organization_id: organization,
    dataset_id: dataset,
    values: lead,
    created_at: at,
    updated_at: at,
  }
  const body = JSON.stringify(lead)
  const payload: Document & Record<string, Json> = {
    id,
    body,
    headers: { "content-type": "application/json", "user-agent": "bench/1.0", "x-request-id": id },
    query: {},
    expires_at: timestamp(now + 7 * 86_400_000),
  }
  return {
    id,
    writes: [
      { kind: "insert", collection: EntryCollection, organization, doc: entryOf(id, now, lead, body, rowId) },
      { kind: "insert", collection: PayloadCollection, organization, doc: payload },
      { kind: "merge", collection: RowsCollection, organization, doc: row, position },
    ],
  }
}

function entryOf(id: string, now: number, lead: Record<string, Json>, body: string, rowId: string): Document & Record<string, Json> {
  const at = timestamp(now)
  const result = { row_id: rowId, dataset_slug: "leads", created: true }
  return {
    id,
    pipeline_id: pipeline,
    pipeline_slug: "bench-lead",
    revision: 1,
    status: "accepted",
    cause: "",
    error: null,
    received_at: at,
    is_test: false,
    payload_preview: body,
    response: { status: 200, body: JSON.stringify({ ok: true, execution_id: id }) },
    repeat_of: null,
    replay_of: null,
    count: 1,
    first_at: at,
    last_at: at,
    verdict: { ok: true, mode: "hmac_sha256", cause: "", message: "", secret_id: "s_1", event_id: null, event_type: null },
    dedupe: null,
    schema_errors: [],
    transformed: lead,
    steps: { save: { type: "dataset.write", state: "done", attempts: 1, duration_ms: 0.12, result, error: null } },
    timings: { verify: 0.05, sandbox: 0.4, run: 0.2, total: 0.71 },
    rows: [{ step: "save", dataset: "leads", row_id: rowId }],
    envelope: {
      endpoint_id: "in_0123456789abcdefghijkl",
      page_url: null,
      referrer: null,
      artifact_id: null,
      visitor_id: null,
      ip: "127.0.0.1",
    },
    depth: 0,
    digest: "sha256:0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a0f3c9d7a",
    expires_at: timestamp(now + month),
  }
}

function uuidOf(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

if (import.meta.main) {
  const { printTable } = await import("./table.ts")
  for await (const row of storageRows({ only: "", seconds: 6, runs: 2 })) printTable([row])
}
