// `millrace evals run`: a complete run with its verdict, for build servers.
import { writeFileSync } from "node:fs"
import { setTimeout as pause } from "node:timers/promises"
import type { z } from "zod"
import { CommandProblem } from "#core"
import { chosenTarget, type JunitSuite, junitXml, type ServiceOptions, serviceCalls } from "#core/commands"
import type { CommandContext } from "#core/engine"
import { getRun, startRun } from "../operations/runs.ts"
import { type CaseReport, isRed } from "../runs/report.ts"

interface RunOptions extends ServiceOptions {
  readonly repeats?: string
  readonly junit?: string
  readonly json?: boolean
}

type Run = z.infer<typeof getRun.output>

/** Polling interval of the run's progress. */
const pollMs = 500
const exitCodes = { passed: 0, failed: 1, no_verdict: 2 } as const

export async function runSuite(
  options: RunOptions,
  { args, config, terminal }: CommandContext,
): Promise<{ text: string; exitCode: number }> {
  const [suite = ""] = args
  const call = serviceCalls([startRun, getRun], await chosenTarget(options, config().data_dir, terminal))
  let run = (await call("evals.start_run", { suite, ...repeatsOf(options) })) as Run
  const signal = terminal.interrupted?.()
  while (run.status === "running") {
    await pause(pollMs, undefined, signal ? { signal } : {}).catch(() => undefined)
    if (signal?.aborted) throw new CommandProblem(`Interrupted; the run ${run.id} goes on.`, 130)
    run = (await call("evals.get_run", { suite, id: run.id })) as Run
  }
  if (options.junit !== undefined) writeFileSync(options.junit, junitXml([junitSuite(run)]))
  return { text: options.json ? JSON.stringify(run, undefined, 2) : textOf(run), exitCode: exitCodes[run.verdict ?? "no_verdict"] }
}

function repeatsOf({ repeats }: RunOptions): { readonly repeats?: number } {
  if (repeats === undefined) return {}
  if (/^\d+$/.test(repeats)) return { repeats: Number(repeats) }
  throw new CommandProblem(`--repeats takes a number from 1 to 20, not "${repeats}".`)
}

function textOf({ cases, verdict, reason, flaky }: Run): string {
  const width = Math.max(4, ...cases.map((evalCase) => evalCase.case.length))
  const lines = cases.map((evalCase) => `  ${evalCase.state.padEnd(10)}  ${evalCase.case.padEnd(width)}  ${evalCase.reason}`)
  const unsteady = flaky.length > 0 ? [`Flaky: ${flaky.join(", ")}.`] : []
  return [...lines, ...unsteady, `${verdict}: ${reason}`].join("\n")
}

/** A test case per eval case, and a test case for the verdict. A score below the threshold belongs to no single case. */
function junitSuite({ suite_slug, cases, verdict, reason, created_at, finished_at }: Run): JunitSuite {
  const whole =
    verdict === "passed" ? {} : { outcome: { kind: verdict === "failed" ? "failure" : "error", message: reason, text: reason } as const }
  const milliseconds = finished_at === null ? 0 : Date.parse(finished_at) - Date.parse(created_at)
  return {
    name: suite_slug,
    cases: [
      ...cases.map((evalCase) => ({ name: evalCase.case, of: suite_slug, ...outcomeOf(evalCase) })),
      { name: "verdict", of: suite_slug, ...whole },
    ],
    milliseconds,
  }
}

function outcomeOf({ state, reason, passed, failed, could_not_judge }: CaseReport) {
  const text = `${state}: ${passed} passed, ${failed} failed, ${could_not_judge} could not be judged.`
  if (isRed({ state })) return { outcome: { kind: "failure", message: reason, text } as const }
  return state === "not_judged" ? { outcome: { kind: "error", message: reason, text } as const } : {}
}
