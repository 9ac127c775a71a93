// Runs the tests of a file. Each test has its own organization, so tests are isolated.
import {
  type Difference,
  type EventDocument,
  type Expectations,
  type LocalCompiler,
  type MadePipeline,
  PipelineHarness,
  type Rehearsal,
  type TestDocument,
} from "#core/commands"
import { type JournalEntry, PipelineDocument } from "#core/engine"
import { UnmetReads } from "../unmet-reads.ts"
import type { CheckedFile } from "../validate.ts"
import { unmet } from "./expectations.ts"
import { requestOf, setFixtures } from "./fixtures.ts"
import { type ReadTests, readTestFile } from "./read-test-file.ts"

export interface TestResult {
  readonly name: string
  readonly line: number
  readonly ok: boolean
  readonly skipped: boolean
  readonly milliseconds: number
  readonly differences: readonly Difference[]
  /** Reason the test could not run. */
  readonly fault: string | undefined
  /** Journal messages about events that were not accepted, if the test has differences. */
  readonly said: readonly string[]
}

export interface FileResult {
  readonly path: string
  readonly results: readonly TestResult[]
  /** Problems that kept the file from running. */
  readonly problems: readonly CheckedFile[]
  /** Notes that do not fail a test. */
  readonly notes: readonly string[]
  readonly milliseconds: number
  /** Files whose changes rerun this file. */
  readonly sources: readonly string[]
}

export async function runTestFile(file: string, rehearsal: Rehearsal, compiler: LocalCompiler, path: string): Promise<FileResult> {
  const started = performance.now()
  const read = await readTestFile(file, compiler)
  if ("problems" in read)
    return { path, results: [], problems: read.problems, notes: [], milliseconds: performance.now() - started, sources: read.sources }
  const only = read.tests.tests.some((test) => test.only)
  const results: TestResult[] = []
  const reads = new UnmetReads(read.reads)
  for (const [index, test] of read.tests.tests.entries()) {
    const line = read.lineOf(`/tests/${index}/name`)
    const skipped = only && !test.only
    results.push(
      skipped
        ? { ...nothing, name: test.name, line, skipped }
        : { ...(await runTest(read, test, rehearsal, reads)), name: test.name, line },
    )
  }
  const notes = only ? [] : reads.notes("No event of these tests has")
  return { path, results, problems: [], notes, milliseconds: performance.now() - started, sources: read.sources }
}

const nothing = {
  ok: true,
  skipped: false,
  milliseconds: 0,
  differences: [] as readonly Difference[],
  fault: undefined,
  said: [] as readonly string[],
}

async function runTest(
  read: ReadTests,
  test: TestDocument,
  rehearsal: Rehearsal,
  reads: UnmetReads,
): Promise<Omit<TestResult, "name" | "line">> {
  const started = performance.now()
  const found: Difference[] = []
  const said: string[] = []
  let fault: string | undefined
  try {
    rehearsal.clock.set(test.clock ?? read.tests.clock)
    const { harness, pipeline } = await prepare(read, test, rehearsal)
    for (const [index, { after, event, expect }] of exchanges(test).entries()) {
      if (after !== undefined) rehearsal.clock.move(durationMs(after))
      const outcome = await harness.send(pipeline, requestOf(event, read.folder))
      reads.see(outcome.entry)
      const at = test.events ? `events[${index}]: ` : ""
      const differing = unmet(expect, outcome).map((one) => ({ ...one, at: at + one.at }))
      if (differing.length > 0) said.push(...saidBy(outcome.entry))
      found.push(...differing)
    }
  } catch (error) {
    // The test's author cannot use the framework's stack.
    fault = error instanceof Error ? error.message : String(error)
  }
  return {
    ok: found.length === 0 && fault === undefined,
    skipped: false,
    milliseconds: performance.now() - started,
    differences: found,
    fault,
    said,
  }
}

async function prepare(
  read: ReadTests,
  test: TestDocument,
  rehearsal: Rehearsal,
): Promise<{ harness: PipelineHarness; pipeline: MadePipeline }> {
  const harness = await PipelineHarness.for(rehearsal, [read.pipeline, ...read.others])
  setFixtures(rehearsal.outgoing, test)
  for (const [slug, { base_url, headers }] of Object.entries(test.integrations)) await harness.connect({ slug, base_url, headers })
  for (const other of read.others) await harness.make(other)
  return { harness, pipeline: await harness.make(PipelineDocument.parse(read.pipeline), read.tests.secret) }
}

function exchanges({ event, expect, events }: TestDocument): { after?: string | undefined; event: EventDocument; expect: Expectations }[] {
  // A test without both was refused with its file.
  return events ?? (event && expect ? [{ event, expect }] : [])
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function durationMs(text: string): number {
  const [, count = "0", unit = "s"] = /^(\d+)([a-z]+)$/.exec(text) ?? []
  return Number(count) * (units[unit] ?? 0)
}

function saidBy({ status, cause, error, schema_errors, steps }: JournalEntry): string[] {
  const problems = schema_errors.map(({ pointer, message }) => `${pointer || "/"}: ${message}`)
  const failed = Object.entries(steps).flatMap(([id, step]) => (step.error ? [`step ${id}: ${step.error.message}`] : []))
  if (status === "accepted") return failed
  return [`The event was ${status} (${cause})${error ? `: ${error.message}` : ""}`, ...problems, ...failed]
}
