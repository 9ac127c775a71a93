// Cost of a durable commit in the embedded store, by thread. 64 commits are in progress, each with an inbound event's journal
// entry, stored payload and keyed row with a random id. Compares CPU time instead of wall time with a bare node:sqlite script
// that writes the same text into three plain tables. `node test/bench/storage.ts` runs it alone.
import { readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Commit } from "../../core/contract/store.ts"
import { systemClock } from "../../core/kernel/clock.ts"
import { EntryCollection, PayloadCollection } from "../../core/pipeline/journal/collections.ts"
import { createSqliteDriver } from "../../core/storage/sqlite/driver.ts"
import { createStore } from "../../core/storage/store.ts"
import { RowsCollection } from "../../plugins/data/datasets/collections.ts"
import { benchFolder } from "./machine.ts"
import { type BenchOptions, isSelected } from "./options.ts"
import { eventOf, organization } from "./storage/event-commit.ts"
import { WalFrames } from "./storage/wal-frames.ts"
import { type Row, rowOf } from "./table.ts"

/** Commits in progress at once. */
const connections = 64
/** Compilation dominates the first seconds. */
const warmSeconds = 8

export async function* storageRows(options: Pick<BenchOptions, "only" | "seconds" | "runs">): AsyncGenerator<Row> {
  const { seconds, runs = 3 } = options
  if (!isSelected(options, "storage/writer") && !isSelected(options, "storage/main")) return
  const folder = benchFolder()
  try {
    const measured = await measureStore(join(folder, "ours.db"), seconds, runs)
    const peer = measureBare(join(folder, "bare.db"), seconds, runs)
    const [first] = measured
    const note = measured
      .map(
        (run) => `${Math.round(run.perSecond)}/s p50 ${run.p50.toFixed(2)} p99 ${run.p99.toFixed(2)} ms WAL ${Math.round(run.walBytes)} B`,
      )
      .join("; ")
    const cost = (thread: "writer" | "main", detail: string) =>
      rowOf(
        `storage/${thread}`,
        "CPU µs/event",
        measured.map((run) => run[thread]),
        "bare node:sqlite",
        peer,
        detail,
      )
    if (isSelected(options, "storage/writer")) yield cost("writer", note)
    if (isSelected(options, "storage/main")) yield cost("main", `groups of ${Math.round(first?.group ?? 0)}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Measured {
  /** CPU microseconds per event, by thread. The main thread's figure excludes the creation of the documents. */
  readonly writer: number
  readonly main: number
  readonly perSecond: number
  /** Milliseconds per group. */
  readonly p50: number
  readonly p99: number
  /** Average commits per group. */
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

/** Returns the CPU microseconds of one call, measured over many: the kernel updates a thread's time only periodically. */
function costOf(make: () => unknown): number {
  const count = 20_000
  const stored: unknown[] = new Array(connections)
  const before = process.threadCpuUsage()
  for (let index = 0; index < count; index++) stored[index % connections] = make()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / count
}

/**
 * Writes the same text into three plain tables with the same keys, one transaction per group. Returns CPU microseconds per event.
 */
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

/** Returns CPU microseconds of all threads of this name, as counted by Linux. */
function cpuOf(name: string): number {
  let microseconds = 0
  for (const thread of readdirSync("/proc/self/task")) {
    const folder = `/proc/self/task/${thread}`
    if (readFileSync(`${folder}/comm`, "utf8").trim() !== name) continue
    microseconds += Number(readFileSync(`${folder}/schedstat`, "utf8").split(" ")[0]) / 1_000
  }
  return microseconds
}

if (import.meta.main) {
  const { printTable } = await import("./table.ts")
  for await (const row of storageRows({ only: "", seconds: 6, runs: 2 })) printTable([row])
}
