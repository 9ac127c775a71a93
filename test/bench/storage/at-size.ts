// Cost of a full store. Sends events until the store has the requested rows and journal entries, and samples the service's
// memory. Then reads pages through the API, and compares the event rate with an empty store in turns.
import { statfsSync } from "node:fs"
import { Contest } from "../contest.ts"
import { type InboundRequest, makePipeline, signedRequest } from "../inbound/pipelines.ts"
import { Load } from "../load/load.ts"
import { type BenchOptions, BenchProblem } from "../options.ts"
import { type Service, startService } from "../service/service.ts"
import { type Row, rowOf } from "../table.ts"

export interface SizeOptions extends Pick<BenchOptions, "seconds" | "runs" | "note"> {
  readonly rows: number
  /** Warm-up of the empty store; the full one is warm. */
  readonly warmSeconds?: number
}

const connections = 128
/** Requests prepared at once. */
const maxAtOnce = 250_000
/** Approximate bytes on disk, with journal entry, payload, indexes and log. */
const bytesPerRow = 5_000
const allowedPageMs = 20
/** Default bound of rows that a read may scan without an index. */
const scannable = 100_000

export async function* sizeRows(options: SizeOptions): AsyncGenerator<Row> {
  const { rows, note, seconds, runs = 5, warmSeconds = 8 } = options
  checkRoom(rows)
  const service = await startService()
  const load = new Load()
  const empty: Service[] = []
  try {
    const request = signedRequest(await makePipeline(service, { name: "Bench" }))
    const memory = await fill(service, load, request, options)
    yield memoryRow(memory, rows)
    for (const [name, path] of Object.entries(await pages(service))) {
      note(`storage/size/page/${name}`)
      const durations = await timesOf(service, path)
      yield rowOf(`storage/size/page/${name}`, "ms", durations, "allowed", [allowedPageMs], `${rows} rows and entries`)
    }
    if (rows > scannable) yield await refusalRow(service, rows)
    const other = await startService()
    empty.push(other)
    const contest = new Contest(load, [
      { name: "full", request, keeps: service, warmSeconds: 0 },
      { name: "empty", request: signedRequest(await makePipeline(other, { name: "Bench" })), keeps: other, warmSeconds },
    ])
    note(`storage/size/throughput: warming up, then ${runs} runs of ${seconds} s each`)
    await contest.warm(connections)
    const measured = await contest.runs({ connections, seconds, runs })
    yield rowOf(
      "storage/size/throughput",
      "events/s",
      measured("full"),
      "empty store",
      measured("empty"),
      `${rows} rows and entries; goal 0.9`,
    )
  } finally {
    load.stop()
    await Promise.all([service, ...empty].map((item) => item.stop()))
  }
}

function checkRoom(rows: number): void {
  const { bavail, bsize } = statfsSync(import.meta.dirname)
  const [free, needed] = [bavail * bsize, rows * bytesPerRow]
  if (free > needed) return
  const gb = (bytes: number) => `${Math.ceil(bytes / 2 ** 30)} GB`
  throw new BenchProblem(
    `${rows} rows take about ${gb(needed)}, and ${gb(free)} are free on the project's disk. Ask for fewer with --rows.`,
  )
}

interface Sample {
  readonly rows: number
  readonly mb: number
}

/** Sends the events. Returns samples of the service's memory. */
async function fill(service: Service, load: Load, request: InboundRequest, { rows, note }: SizeOptions): Promise<Sample[]> {
  const samples: Sample[] = []
  let sentCount = 0
  let unanswered = 0
  while (sentCount < rows) {
    const count = await load.prepare(
      { ...request, prefix: `fill-${sentCount}` },
      Math.min(maxAtOnce, Math.ceil(rows / 10), rows - sentCount),
    )
    const from = sentCount
    const sampling = setInterval(() => samples.push({ rows: from, mb: service.tree.residentMb() }), 250)
    const began = performance.now()
    const { ok, other } = await load.run({ url: request.url, connections, seconds: 3_600, repeat: false })
    clearInterval(sampling)
    const rate = (ok * 1_000) / (performance.now() - began)
    samples.push({ rows: sentCount + ok, mb: service.tree.residentMb() })
    sentCount += count
    unanswered += other
    note(`storage/size: ${sentCount} of ${rows} events, ${Math.round(rate)}/s, ${Math.round(samples.at(-1)?.mb ?? 0)} MB`)
  }
  const books = await service.books()
  if (books.entries !== rows || books.rows !== rows || unanswered > 0)
    throw new BenchProblem(
      `storage/size: the run is void: ${rows} events, ${unanswered} not answered with 2xx, ${books.entries} entries, ${books.rows} rows`,
    )
  return samples
}

/** The first fifth is warm-up. Then memory should be constant. */
function memoryRow(samples: readonly Sample[], rows: number): Row {
  const between = (from: number, to: number) =>
    samples.filter((sample) => sample.rows >= rows * from && sample.rows <= rows * to).map(({ mb }) => mb)
  const [early, late] = [between(0.2, 0.5), between(0.7, 1)]
  const most = Math.round(Math.max(...samples.map(({ mb }) => mb)))
  return rowOf("storage/size/memory", "MB", late, "in the first half", early, `while ${rows} events came in, ${most} MB at most`)
}

async function pages(service: Service): Promise<Record<string, string>> {
  const rows = "/v1/datasets/customers/rows?limit=50"
  const executions = "/v1/event-pipelines/bench/executions?limit=50"
  const list = (path: string) =>
    service.api<{ rows: { created_at: string; values: { customer: string } }[]; next_cursor: string }>("GET", path)
  const oldest = (await list(`${rows}&sort=created_at`)).rows[0]
  const newest = await list(rows)
  const [first, last] = [oldest?.created_at ?? "", newest.rows[0]?.created_at ?? ""]
  const middle = new Date((Date.parse(first) + Date.parse(last)) / 2).toISOString()
  const filtered = (filter: object) => `${rows}&filter=${encodeURIComponent(JSON.stringify(filter))}`
  const entries = await service.api<{ next_cursor: string }>("GET", executions)
  return {
    rows,
    "rows-next": `${rows}&cursor=${encodeURIComponent(newest.next_cursor)}`,
    "rows-from-the-middle": filtered({ created_at: { $lte: middle } }),
    "rows-by-key": filtered({ customer: oldest?.values.customer ?? "" }),
    executions,
    "executions-next": `${executions}&cursor=${encodeURIComponent(entries.next_cursor)}`,
    "executions-from-the-middle": `${executions}&until=${middle}`,
    "executions-by-status": `${executions}&status=accepted`,
    "executions-failed": `${executions}&status=failed`,
  }
}

/** The first call counts rows up to the scan bound. */
async function refusalRow(service: Service, rows: number): Promise<Row> {
  const durations: number[] = []
  for (let call = 0; call < 10; call++) {
    const began = performance.now()
    const answer = await service.api("GET", "/v1/datasets/customers/rows?sort=-budget").catch((error: unknown) => String(error))
    durations.push(performance.now() - began)
    if (typeof answer !== "string" || !answer.includes("column_not_indexed"))
      throw new BenchProblem(`storage/size: sorting ${rows} rows by a column without an index was not refused: ${JSON.stringify(answer)}`)
  }
  const [first = Number.NaN] = durations.splice(0, 1)
  return rowOf("storage/size/unindexed-refused", "ms", durations, "allowed", [allowedPageMs], `${Math.round(first)} ms the first time`)
}

async function timesOf(service: Service, path: string): Promise<number[]> {
  const durations: number[] = []
  for (let call = 0; call < 60; call++) {
    const began = performance.now()
    await service.api("GET", path)
    // The first calls have cold code and pages.
    if (call >= 10) durations.push(performance.now() - began)
  }
  return durations
}
