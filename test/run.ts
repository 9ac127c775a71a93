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
  "surface/parity/parity",
  "package/packed",
  "crash/mongodb",
  "crash/workers",
  "plugins/console/every-screen",
  "docs/docs.",
  "cli/new.",
  "crash/",
  "storage/mongodb-faults",
  "plugins/page-analytics/corpus.slow",
  "plugins/screenshots/taking",
  "plugins/leads/killed",
  "plugins/experiments/killed",
  "plugins/conversations/killed",
  "plugins/voice/killed",
  "plugins/experiments/seen",
  "testing/contract.",
  "plugins/screenshots/",
  "pipeline/event/cluster",
  "plugins/integrations/oauth/killed",
  "readme.",
  // fast
  "surface/parity/",
  "plugins/consents/erasure",
  "plugins/sending-domains/checking",
  "plugins/suppressions/bounces",
  "plugins/heartbeats/heartbeats",
  "storage/mongodb.",
  "plugins/events/finding",
  "plugins/experiments/live.",
  "plugins/page-analytics/",
  "pipeline/sandbox/",
  "plugins/page-events/",
  "plugins/leads/leads.",
  "cli/pipelines/",
  "plugins/knowledge/uploads",
  "cli/",
  "plugins/event-pipelines/",
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

/** More than the cores, since a file often waits: for other processes, most in the slow tier, and for time to pass. */
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

/** Resolves with the exit code. Interrupted by `signal`, it ends as by Ctrl-C: with what it has found so far. */
export async function runTier(tier: Tier, more: readonly string[], signal?: AbortSignal): Promise<number> {
  const given = Object.fromEntries(Object.entries(environment[tier]()).map(([name, value]) => [name, process.env[name] ?? value]))
  if (tier === "soak") console.log(`MILLRACE_TEST_SEED=${given["MILLRACE_TEST_SEED"]}`)
  // Times are measured in the soak: one file at a time.
  const [flags, parallel] = tier === "soak" ? [[], []] : [garbage, ["--parallel", "--jobs", String(jobs(tier))]]
  const args = [...flags, join(projectRoot, "node_modules/mocha/bin/mocha.js"), "--forbid-only", ...parallel, ...more, ...filesOf(tier)]
  const mocha = spawn(process.execPath, args, {
    cwd: projectRoot,
    stdio: "inherit",
    env: { TMPDIR: temporaryFolder(tier), ...process.env, ...given, MILLRACE_TEST_TIER: tier },
  })
  signal?.addEventListener("abort", () => mocha.kill("SIGINT"))
  // Ctrl-C reaches mocha as well, which ends by it.
  process.on("SIGINT", () => undefined)
  const [status] = (await once(mocha, "close")) as [number | null]
  return status ?? 1
}

if (import.meta.main) {
  const [tier = "fast", ...more] = process.argv.slice(2)
  if (tiers.includes(tier as Tier)) process.exitCode = await runTier(tier as Tier, more)
  else {
    console.error(`"${tier}" is not a tier: ${tiers.join(", ")}.`)
    process.exitCode = 2
  }
}
