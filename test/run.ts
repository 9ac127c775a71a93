// Runs one tier of the tests: `node test/run.ts fast|slow|soak [mocha's arguments]`. A file's name says its tier:
// *.slow.test.ts, *.soak.test.ts, and every other *.test.ts is fast. Files run in a few mocha workers more than there
// are cores, the longest first. Tests that draw their inputs use one seed; in the soak a new one each time, printed here. What
// draws inputs, or takes some of many cases in the fast tier, runs again in the slow tier with others or with more of them, and
// in the soak, where times are judged as well.
import { spawn } from "node:child_process"
import { randomInt } from "node:crypto"
import { once } from "node:events"
import { existsSync, globSync, readFileSync, statfsSync, statSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { projectRoot } from "./import-graph.ts"

const tiers = ["fast", "slow", "soak"] as const
type Tier = (typeof tiers)[number]

/** Beginnings of names, below test/, of the files that take longest, as measured; the rest follows by size. A stale one does no harm. */
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
 * Files at once: more than the cores, since a file often waits for other processes, most in the slow tier, or for time to
 * pass. One of them is a file that judges turns.
 */
const jobs = (tier: Tier) => Math.max(2, availableParallelism()) + (tier === "slow" ? 3 : 2)

/**
 * The tests are bound by the processor, which threads that collect garbage beside each other take more of; and what a
 * test leaves behind is seldom kept.
 */
const garbage = ["--single-threaded-gc", "--min-semi-space-size=16", "--max-semi-space-size=64"]

/** Of memory in the fast tier, whose kills are of processes, not of machines: what was written stays without a flush. */
function temporaryFolder(tier: Tier): string | undefined {
  const [memory, needed] = ["/dev/shm", 2 ** 31]
  if (tier !== "fast" || !existsSync(memory)) return undefined
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize >= needed ? memory : undefined
}

/** Turns are measured in a process of their own, which collects its garbage as a service does. */
function judgesTurns(file: string): boolean {
  return /\bexpectShortTurn\b/.test(readFileSync(join(projectRoot, file), "utf8"))
}

/** Resolves with the exit code. Interrupted by `signal`, it ends as by Ctrl-C: with what it has found so far. */
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
  // Ctrl-C reaches mocha as well, which ends by it.
  process.on("SIGINT", () => undefined)
  const files = filesOf(tier)
  // Times are measured in the soak: one file at a time.
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
