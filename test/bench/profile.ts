// `npm run bench -- --profile`: CPU profile of a full run. Writes a profile of each of the service's threads into
// bench-results/profile, and prints our hottest functions. The sandbox's process cannot be inspected (its permissions forbid it).
// Its cost is the CPU time of its threads.
import { mkdirSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { projectRoot } from "../import-graph.ts"
import { makePipeline, signedRequest } from "./inbound/pipelines.ts"
import { Load } from "./load/load.ts"
import { BenchProblem } from "./options.ts"
import { readProfile, type ThreadTime } from "./service/hottest.ts"
import { type Service, startService } from "./service/service.ts"

const folder = join(projectRoot, "bench-results/profile")
const connections = 64
const warmSeconds = 10

/** Returns lines to print. */
export async function profileFullRun(seconds: number): Promise<string[]> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const service = await startService({ preload: ["profiled.ts"], env: { BENCH_PROFILES: folder } })
  const load = new Load()
  try {
    const request = signedRequest(await makePipeline(service, { name: "Bench" }))
    const run = async (prefix: string, seconds: number, rate: number) => {
      await load.prepare({ ...request, prefix }, rate * (seconds + 1))
      return load.run({ url: request.url, connections, seconds, repeat: false })
    }
    const warm = await run("warm", warmSeconds, 15_000)
    process.kill(service.pid, "SIGUSR2")
    await appeared(service, ".begun")
    const before = service.tree.threadsUs()
    const { ok, perSecond } = await run("profiled", seconds, warm.perSecond * 1.5)
    const after = service.tree.threadsUs()
    process.kill(service.pid, "SIGUSR2")
    const files = await appeared(service, ".cpuprofile")
    return [
      `${Math.round(perSecond)} events/s while profiled`,
      ...threadLines(before, after, ok),
      ...files.flatMap((file) => ["", ...hottestLines(file, readProfile(join(folder, file)), ok)]),
    ]
  } finally {
    load.stop()
    await service.stop()
  }
}

/** Waits for the files of the main and the writing thread; each thread writes its file on its own. */
async function appeared(service: Service, ending: string): Promise<string[]> {
  const until = performance.now() + 30_000
  for (;;) {
    const files = readdirSync(folder).filter((name) => name.endsWith(ending) && /^(main|millrace-writer)/.test(name))
    if (files.length >= 2) return files
    if (performance.now() > until) throw new BenchProblem(`The service, process ${service.pid}, was not profiled: ${folder} lacks files.`)
    await pause(100)
  }
}

function threadLines(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>, events: number): string[] {
  const used = [...after]
    .map(([name, us]) => ({ name, us: (us - (before.get(name) ?? 0)) / events }))
    .filter(({ us }) => us >= 0.5)
    .sort((a, b) => b.us - a.us)
  const lines = used.map(({ name, us }) => `  ${us.toFixed(1).padStart(6)} µs  ${name}`)
  return ["CPU an event, by thread (`child` is the sandbox's process):", ...lines]
}

function hottestLines(file: string, { total, kinds, ours, node }: ThreadTime, events: number): string[] {
  const busy = total - (kinds.get("(idle)") ?? 0)
  const percent = (us: number, digits: number) => ((us / busy) * 100).toFixed(digits)
  const line = ({ at, us }: ThreadTime["ours"][number]) =>
    `  ${(us / events).toFixed(2).padStart(6)} µs/event  ${percent(us, 1).padStart(5)} %  ${at}`
  const parts = [...kinds].filter(([kind, us]) => kind !== "(idle)" && us / busy > 0.005)
  return [
    `${file.replace(".cpuprofile", "")}: busy ${Math.round((busy / total) * 100)} % of the time, of that:`,
    `  ${parts.map(([kind, us]) => `${kind} ${percent(us, 1)} %`).join(", ")}`,
    ...ours.slice(0, 10).map(line),
    "  Node's own:",
    ...node.slice(0, 5).map(line),
  ]
}
