// `npm run bench -- --ledger`: cost of each feature per event, as CPU time of all threads of the service. On a shared machine,
// CPU time is more reliable than a rate. Starting from the least durable pipeline, each pipeline has one feature more than its
// base. All belong to one service and take turns.
import { Contest, type Contestant } from "./contest.ts"
import { makePipeline, ofPerson, type PipelineOptions, plainTransform, saveStep, signedRequest } from "./inbound/pipelines.ts"
import { indexCosts } from "./ledger/indexes.ts"
import { Load } from "./load/load.ts"
import type { BenchOptions } from "./options.ts"
import { type KeepingPeer, startHandler } from "./peers/keeping.ts"
import { type Service, startService } from "./service/service.ts"
import { median, type Row, rowOf } from "./table.ts"

interface Line {
  readonly name: string
  /** The line with one feature less. */
  readonly base: string
  readonly pipeline: Omit<PipelineOptions, "name">
  readonly rows: number
}

const { key: _, ...unkeyed } = { ...saveStep, dataset_slug: "visits" }
const row = { customer: "{{ event.customer }}", name: "{{ event.name }}", budget: "{{ event.budget }}" }

const lines: readonly Line[] = [
  { name: "journal entry", base: "", rows: 0, pipeline: { auth_mode: "none", schema: false, transform: false, steps: [] } },
  { name: "hmac", base: "journal entry", rows: 0, pipeline: { schema: false, transform: false, steps: [] } },
  { name: "schema", base: "hmac", rows: 0, pipeline: { transform: false, steps: [] } },
  { name: "transform", base: "schema", rows: 0, pipeline: { steps: [] } },
  {
    name: "transform in the sandbox",
    base: "transform",
    rows: 0,
    pipeline: { transform: plainTransform("customer").replace("{ return", "{ const sandboxed = true; return"), steps: [] },
  },
  { name: "row", base: "transform", rows: 1, pipeline: { steps: [unkeyed] } },
  { name: "keyed row", base: "transform", rows: 1, pipeline: { steps: [saveStep] } },
  { name: "row of templates", base: "keyed row", rows: 1, pipeline: { steps: [{ ...saveStep, row }] } },
  {
    name: "deduplication",
    base: "keyed row",
    rows: 1,
    pipeline: { steps: [saveStep], dedupe: { key: "{{ payload.email }}" } },
  },
  { name: "response", base: "keyed row", rows: 1, pipeline: { steps: [saveStep, { id: "answer", type: "respond" }] } },
  { name: "lead", base: "keyed row", rows: 1, pipeline: ofPerson },
]

const connections = 64

export async function* ledgerRows(options: BenchOptions): AsyncGenerator<Row> {
  const { note, runs = 5 } = options
  const seconds = Math.min(3, options.seconds)
  const service = await startService()
  const load = new Load()
  let handler: KeepingPeer | undefined
  try {
    const contestants = await Promise.all(lines.map((line, index) => contestantOf(service, line, index)))
    handler = await startHandler({ kind: "lead", bytes: 300 })
    const contest = new Contest(load, [handler.contestant, ...contestants])
    note(`ledger: ${lines.length} pipelines: warming up, then ${runs} runs of ${seconds} s each`)
    await contest.warm(connections)
    const measured = await contest.runs({ connections, seconds, runs })
    const us = (name: string) => measured(name, "server_us")
    for (const { name, base } of lines) {
      const beside = base === "" ? handler.name : base
      const threads = contest.threadsOf(name).map(([thread, cost]) => `${thread} ${cost.toFixed(1)}`)
      const more = base === "" ? "" : `${(median(us(name)) - median(us(base))).toFixed(1)} µs more: `
      const after = name === "lead" ? "; what a job of leads has left is not in it" : ""
      yield rowOf(`ledger/${name}`, "CPU µs/event", us(name), beside, us(beside), `${more}${threads.join(", ")}${after}`)
    }
  } finally {
    load.stop()
    await handler?.stop()
    await service.stop()
  }
  note("ledger: indexes")
  const costs = await indexCosts()
  for (const { name, base, us } of costs) {
    const before = costs.find((cost) => cost.name === base)?.us ?? us
    yield rowOf(`ledger/index/${name}`, "CPU µs/document", us, base ?? "itself", before, "the writing thread, 64 in progress")
  }
}

async function contestantOf(service: Service, { name, pipeline, rows }: Line, index: number): Promise<Contestant> {
  const request = signedRequest(await makePipeline(service, { ...pipeline, name: `Ledger ${name}` }))
  // The first compiles their common code.
  return { name, request, keeps: service, leaves: { rows, entries: 1 }, warmSeconds: index === 0 ? 8 : 3 }
}
