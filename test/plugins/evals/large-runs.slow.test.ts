// The end of a large run: its verdicts are counted and compared while the service serves others.
import { expect } from "chai"
import { derivedUuid, Ids, JobQueue, Store, UnitsOfWork } from "#core"
import { Jobs } from "../../../core/contract/job.ts"
import { expectShortTurn, leastTurn, longestTurn } from "../../longest-turn.ts"
import { untilProcess as until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { bySight, EvalBench } from "./bench.ts"

interface StoredRun {
  readonly id: string
  readonly status: string
  readonly verdict: string | null
  readonly report: unknown
  readonly judge: string
  readonly created_at: string
  readonly expires_at: string
}

const [caseCount, repeats] = [500, 20]
const slugs = Array.from({ length: caseCount }, (_, n) => `case-${n}`)

describe("a run of 10,000 answers", () => {
  let bench: EvalBench
  before(async () => {
    bench = await EvalBench.open({ evals: { max_cells: 20_000 } })
    bench.judge.answer(bySight)
  })
  after(() => bench.close())

  /** Returns a run with all answers judged. */
  const judged = async (like: StoredRun, input: Partial<StoredRun>): Promise<StoredRun> => {
    const { host } = bench
    const works = host.get(UnitsOfWork)
    const run = { ...like, id: host.get(Ids).uuid(), case_count: caseCount, repeats, ...input }
    const { id: run_id, expires_at } = run
    await works.run((work) => {
      const cases = work.in(collectionNamed<{ slug: string }>(host, "eval_run_cases"), host.organization.id)
      for (const slug of slugs) {
        const item = { run_id, slug, name: slug, input: slug, expectation: "right", rubric: "", critical: false, expires_at }
        cases.insert({ id: host.get(Ids).uuid(), ...item })
      }
    })
    for (let first = 0; first < caseCount; first += 50)
      await works.run((work) => {
        const answers = work.in(collectionNamed<{ run_id: string }>(host, "eval_answers"), host.organization.id)
        for (const case_slug of slugs.slice(first, first + 50))
          for (let repeat = 1; repeat <= repeats; repeat++)
            answers.insert({
              ...{ id: derivedUuid("eval answer", run_id, case_slug, String(repeat)), run_id, case_slug, repeat, judged_again: null },
              ...{ output: "It is right. ".repeat(20), artifact: null, verdict: "pass", reason: "It is.", cause: "", judge: run.judge },
              ...{ agent_millicents: 1, judge_millicents: 1, answered_at: run.created_at, judged_at: run.created_at, expires_at },
            })
      })
    return run
  }

  it("ends in short turns, alone and beside the last passing run", async () => {
    const { host } = bench
    const suite = await bench.suite("large", ["one"])
    const first = await bench.run(suite)
    const runs = host.get(Store).open(collectionNamed<StoredRun>(host, "eval_runs"), host.organization.id)
    const like = await runs.get(first.id)
    if (!like) throw new Error("no run")
    let baseline: string | null = null
    for (const round of ["alone", "beside the last"]) {
      const began = { status: "running", is_passing: false, baseline_run_id: baseline, report: null } as const
      const { milliseconds, value } = await leastTurn(async () => {
        const run = await judged(like, began)
        const end = () =>
          until("the end of the run", async () => {
            const now = await runs.get(run.id)
            return now?.status === "completed" ? now : undefined
          })
        return await longestTurn(async () => {
          await host.get(UnitsOfWork).run((work) => {
            work.in(collectionNamed(host, "eval_runs"), host.organization.id).insert(run)
            const job = host.runtime.registry.get(Jobs, "evals.run") ?? expect.fail()
            host.get(JobQueue).enqueue(work, job, { run_id: run.id }, { organization: host.organization.id })
          })
          return await end()
        })
      })
      if (value.verdict !== "passed") throw new Error(`${value.verdict}: ${JSON.stringify(value.report).slice(0, 300)}`)
      console.log(`      ${round}: ${Math.round(milliseconds)} ms`)
      expectShortTurn(milliseconds, `a run of ${caseCount * repeats} answers, ${round}`)
      baseline = value.id
    }
  })
})
