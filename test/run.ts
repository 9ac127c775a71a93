// Runs one tier of the tests: `node test/run.ts fast|slow|soak [mocha's arguments]`. The file name decides the tier:
// *.slow.test.ts, *.soak.test.ts, and fast for every other *.test.ts. Files run in a few more mocha workers than there are cores,
// the longest first. Tests that draw inputs use one seed; the soak uses a new seed each time and prints it. Tests with drawn
// inputs or samples of cases run again in the slow tier with other or more inputs, and in the soak with time limits.
import { spawn } from "node:child_process"
import { randomInt } from "node:crypto"
import { once } from "node:events"
import { existsSync, globSync, readFileSync, statfsSync, statSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { projectRoot } from "./import-graph.ts"

const tiers = ["fast", "slow", "soak"] as const
type Tier = (typeof tiers)[number]

/** Name prefixes below test/ of the slowest files, as measured; other files follow by size. An outdated entry does no harm. */
const longest = [
  // slow
  "surface/generated-clients",
  "package/packed",
  "surface/parity/parity",
  "crash/supervised",
  "crash/workers",
  "docs/docs.",
  "plugins/console/every-screen",
  "cli/new.",
  "crash/",
  "storage/mongodb-faults",
  "surface/fuzz/",
  "plugins/conversations/large-deliveries",
  "plugins/conversations/killed",
  "plugins/leads/killed",
  "plugins/integrations/oauth/killed",
  "plugins/knowledge/long-texts",
  "plugins/page-analytics/corpus.slow",
  "plugins/actions/contracts",
  "plugins/inbound-mail/killed",
  "plugins/experiments/killed",
  "plugins/event-files/killed",
  "plugins/approvals/killed",
  "plugins/threads/killed-nodes",
  "plugins/voice/killed",
  "plugins/screenshots/",
  "plugins/experiments/seen",
  "pipeline/event/cluster",
  "pipeline/sandbox/json-schema",
  "surface/live/two-processes",
  "testing/contract.",
  "readme.",
  // fast
  "surface/parity/",
  "plugins/consents/erasure",
  "plugins/sending-domains/checking",
  "plugins/suppressions/bounces",
  "plugins/heartbeats/heartbeats",
  "storage/mongodb.",
  "plugins/executions/finding",
  "plugins/experiments/live.",
  "plugins/page-analytics/",
  "pipeline/sandbox/",
  "plugins/page-events/",
  "plugins/leads/leads.",
  "cli/pipelines/",
  "plugins/knowledge/uploads",
  "cli/",
  "plugins/pipelines/",
  "plugins/pipeline-files/",
  "plugins/pipeline-insights/",
  "pipeline/event/",
]

const environment: Readonly<Record<Tier, () => Readonly<Record<string, string>>>> = {
  fast: () => ({ MILLRACE_TEST_RUNS: "3" }),
  slow: () => ({ MILLRACE_TEST_RUNS: "5" }),
  soak: () => ({ MILLRACE_TEST_RUNS: "200", MILLRACE_TEST_SEED: String(randomInt(2 ** 31)), MILLRACE_TEST_KILLS: "100" }),
}

function tierOf(file: string): Tier {
  return (/\.(slow|soak)\.test\.ts$/.exec(file)?.[1] as Tier | undefined) ?? "fast"
}

function filesOf(tier: Tier): string[] {
  const all = globSync("test/**/*.test.ts", { cwd: projectRoot })
  const judged = (file: string) =>
    /fast-check|\b(byTier|drawnRuns|expectWithin|isSoak)\b/.test(readFileSync(join(projectRoot, file), "utf8"))
  const sampled = (file: string) =>
    file.startsWith("test/surface/parity/") ||
    /\b(byTier|isDue|isFast|onStoresInTurn|sampleOf)\b/.test(readFileSync(join(projectRoot, file), "utf8"))
  const again = (file: string) => (tier !== "fast" && sampled(file)) || (tier === "soak" && judged(file))
  const files = all.filter((file) => tierOf(file) === tier || again(file))
  return files.sort((a, b) => rankOf(a) - rankOf(b) || statSync(join(projectRoot, b)).size - statSync(join(projectRoot, a)).size)
}

function rankOf(file: string): number {
  const rank = longest.findIndex((start) => file.startsWith(`test/${start}`))
  return rank === -1 ? longest.length : rank
}

/**
 * Parallel files: more than the cores, since files often wait for processes (most in the slow tier) or for time. One of the files
 * measures turns.
 */
const jobs = (tier: Tier) => Math.max(2, availableParallelism()) + (tier === "slow" ? 3 : 2)

/** Tests are bound by the processor. Parallel garbage collection would use more of it, and tests rarely retain memory. */
const garbage = ["--single-threaded-gc", "--min-semi-space-size=16", "--max-semi-space-size=64"]

/** In memory for the fast tier: its tests kill processes, not machines, so unflushed writes survive. */
function temporaryFolder(tier: Tier): string | undefined {
  const [memory, needed] = ["/dev/shm", 2 ** 31]
  if (tier !== "fast" || !existsSync(memory)) return undefined
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize >= needed ? memory : undefined
}

/** Turns are measured in a separate process that collects its garbage as a service does. */
function judgesTurns(file: string): boolean {
  return /\bexpectShortTurn\b/.test(readFileSync(join(projectRoot, file), "utf8"))
}

/** Resolves with the exit code. After `signal`, the run ends as after Ctrl-C, with its findings so far. */
export async function runTier(tier: Tier, more: readonly string[], signal?: AbortSignal): Promise<number> {
  const variables = Object.fromEntries(Object.entries(environment[tier]()).map(([name, value]) => [name, process.env[name] ?? value]))
  if (tier === "soak") console.log(`MILLRACE_TEST_SEED=${variables["MILLRACE_TEST_SEED"]}`)
  const env = { TMPDIR: temporaryFolder(tier), ...process.env, ...variables, MILLRACE_TEST_TIER: tier }
  const run = async (flags: readonly string[], options: readonly string[], files: readonly string[]): Promise<number> => {
    const args = [...flags, join(projectRoot, "node_modules/mocha/bin/mocha.js"), "--forbid-only", ...options, ...more, ...files]
    const mocha = spawn(process.execPath, args, { cwd: projectRoot, stdio: "inherit", env })
    signal?.addEventListener("abort", () => mocha.kill("SIGINT"))
    const [status] = (await once(mocha, "close")) as [number | null]
    return status ?? 1
  }
  // Ctrl-C also reaches mocha and ends it.
  process.on("SIGINT", () => undefined)
  const files = filesOf(tier)
  // The soak measures times, so it runs one file at a time.
  if (tier === "soak") return await run([], [], files)
  const { turns = [], rest: others = [] } = Object.groupBy(files, (file) => (judgesTurns(file) ? "turns" : "rest"))
  const parallel = ["--parallel", "--jobs", String(jobs(tier) - 1)]
  return Math.max(...(await Promise.all([run(garbage, parallel, others), run([], [], turns)])))
}

if (import.meta.main) {
  const [tier = "fast", ...more] = process.argv.slice(2)
  if (tiers.includes(tier as Tier)) process.exitCode = await runTier(tier as Tier, more)
  else {
    console.error(`"${tier}" is not a tier: ${tiers.join(", ")}.`)
    process.exitCode = 2
  }
}
