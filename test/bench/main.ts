// `npm run bench`: measures costs, compared with peers in the same run. Announces its steps and prints one table.
// docs/performance.md lists the requirements.
import { writeFileSync } from "node:fs"
import { type BenchArguments, readArguments } from "./arguments.ts"
import { writeFigures } from "./docs.ts"
import { describeMachine, machineText } from "./machine.ts"
import { type BenchOptions, BenchProblem, isSelected, type Suite } from "./options.ts"
import { printTable, type Row } from "./table.ts"

/** Loaded when its rows are selected. */
interface Entry {
  /** Prefix of its row names. */
  readonly area: string
  readonly load: () => Promise<Suite>
}

function suitesFor({ rows, peers, ledger }: BenchArguments): Entry[] {
  if (ledger) return [{ area: "ledger/", load: async () => (await import("./ledger.ts")).ledgerRows }]
  if (rows !== undefined) {
    const load = async (): Promise<Suite> => {
      const { sizeRows } = await import("./storage/at-size.ts")
      return (options) => sizeRows({ ...options, rows })
    }
    return [{ area: "storage/size/", load }]
  }
  const all: Entry[] = [
    { area: "inbound/full/", load: async () => (await import("./inbound/full.ts")).fullRows },
    { area: "inbound/", load: async () => (await import("./inbound/variants.ts")).variantRows },
    { area: "inbound/mongodb/", load: async () => (await import("./inbound/mongodb.ts")).mongodbRows },
    { area: "deferred/", load: async () => (await import("./deferred.ts")).deferredRows },
    { area: "storage/", load: async () => (await import("./storage.ts")).storageRows },
    { area: "live/", load: async () => (await import("./live.ts")).liveRows },
    { area: "pages/", load: async () => (await import("./pages/collect.ts")).collectRows },
    { area: "pages/", load: async () => (await import("./pages/analytics.ts")).analyticsRows },
    { area: "events/", load: async () => (await import("./events/events.ts")).eventRows },
    { area: "conversations/", load: async () => (await import("./conversations/lists.ts")).conversationRows },
    { area: "work/", load: async () => (await import("./work/lists.ts")).workRows },
    { area: "knowledge/", load: async () => (await import("./knowledge/knowledge.ts")).knowledgeRows },
    { area: "experiments/", load: async () => (await import("./experiments/live.ts")).liveRows },
    { area: "experiments/", load: async () => (await import("./experiments/runs.ts")).experimentRows },
    {
      area: "pipelines/",
      load: async () => {
        const { pipelineRows } = await import("./pipelines/pipelines.ts")
        return (options) => pipelineRows({ only: options.only, runs: options.runs ?? 3 })
      },
    },
  ]
  if (peers) all.push({ area: "peers/", load: async () => (await import("./peers.ts")).peerRows })
  return all
}

async function main(): Promise<void> {
  const options = readArguments()
  if (options.userAgents !== undefined) {
    const { reportUserAgents } = await import("./user-agents.ts")
    console.log(reportUserAgents(options.userAgents, { misses: options.misses }))
    return
  }
  const machine = describeMachine()
  console.log(machineText(machine))
  if (options.profile) {
    const { profileFullRun } = await import("./profile.ts")
    const profile = await profileFullRun(options.seconds)
    console.log(profile.join("\n"))
    if (options.writeDocs) writeFigures(machine, { profile })
    return
  }
  const note = (text: string) => console.log(`  ${text}`)
  const rows = await measured(suitesFor(options), {
    only: options.only,
    seconds: options.seconds,
    runs: options.runs,
    events: options.events,
    machine,
    note,
  })
  console.log()
  printTable(rows)
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(rows, null, 2)}\n`)
  if (options.writeDocs) writeFigures(machine, { rows })
  if (rows.length === 0 && process.exitCode === undefined) throw new BenchProblem(`No row is named "${options.only}…".`)
}

/** Reports failures and continues with the other suites. */
async function measured(suites: readonly Entry[], options: BenchOptions): Promise<Row[]> {
  const rows: Row[] = []
  for (const { area, load } of suites) {
    if (!isSelected(options, area)) continue
    try {
      const suite = await load()
      for await (const row of suite(options)) rows.push(row)
    } catch (error) {
      tell(error)
    }
  }
  return rows
}

function tell(error: unknown): void {
  console.error(error instanceof BenchProblem ? error.message : error)
  process.exitCode = 1
}

// Process exit stops started services and removes written files.
process.once("SIGINT", () => process.exit(130))
main().catch(tell)
