// The action dataset.write: its input, stamps and written rows. Compiled and rendered like a pipeline's step.
import { expect } from "chai"
import { contractOf } from "#core/testing"
import type { StepContext } from "../../../core/contract/action.ts"
import type { Json } from "../../../core/contract/collection.ts"
import { Store } from "../../../core/contract/store.ts"
import datasetWritePlugin from "../../../plugins/capture/actions/dataset-write/index.ts"
import { refusalOf } from "../../refusal.ts"
import { compiled, findings, runStep } from "../actions/step-bench.ts"
import { type DatasetBench, startBench } from "../datasets/dataset-bench.ts"
import { actionOf } from "../declared-by.ts"

const datasetWrite = actionOf(datasetWritePlugin)

contractOf(datasetWrite)

describe("dataset.write", () => {
  let bench: DatasetBench
  let count = 0
  let slug: string

  before(async () => {
    bench = await startBench()
  })
  after(() => bench.service.remove())
  beforeEach(async () => {
    slug = `leads-${++count}`
    await bench.ensure(slug)
  })

  async function run(fields: string, event: Json, context: Partial<StepContext> = {}) {
    const executionId = bench.executionId()
    const ran = await runStep(datasetWrite, `dataset_slug: ${slug}\n${fields}`, {
      deps: { datasets: bench.datasets },
      event,
      context: { organization: bench.home, executionId, originId: executionId, ...context },
    })
    await bench.service.get(Store).commit(ran.work.commit)
    return ran.result
  }
  const values = async () => (await bench.rows(slug)).map((row) => row.values)
  const marked = (is_test: boolean) => ({ envelope: { received_at: "2026-01-02T03:04:05.006Z", is_test } })

  it("writes the event as it is, and answers with the row", async () => {
    const result = await run("", { email: "ada@example.com", tags: ["a", { b: null }] })
    const [row] = await bench.rows(slug)
    expect(result).to.deep.equal({ row_id: row?.id, dataset_slug: slug })
    expect(row?.values).to.deep.equal({ email: "ada@example.com", tags: ["a", { b: null }], is_test: false })
    expect(row?.created_at).to.equal("2026-01-02T03:04:05.006Z")
  })

  it("writes the columns that it is told, values rendered with their types", async () => {
    await run('row: { email: "{{ event.email }}", budget: "{{ event.budget }}", source: website }', { email: "a", budget: 7, extra: 1 })
    expect(await values()).to.deep.equal([{ email: "a", budget: 7, source: "website", is_test: false }])
  })

  it("upserts by its key", async () => {
    const first = await run("key: email", { email: "a", n: 1 })
    expect(await run("key: email", { email: "a", m: 2 })).to.deep.equal(first)
    expect(await values()).to.deep.equal([{ email: "a", n: 1, m: 2, is_test: false }])
    expect((await refusalOf(run("key: email", { n: 1 }))).details.reason).to.equal("key_missing")
  })

  it("is the same row for a replay, at the same position: newer values stay", async () => {
    const [originId, later] = [bench.executionId(), bench.executionId()]
    const origin = { originId, receivedAt: "2026-01-01T00:00:00.000Z" }
    await run("key: email", { email: "a", city: "old" }, origin)
    await run("key: email", { email: "a", city: "new" }, { originId: later, receivedAt: "2026-01-02T00:00:00.000Z" })
    await run("key: email", { email: "a", city: "old" }, { ...origin, executionId: bench.executionId() })
    expect((await values())[0]).to.include({ city: "new" })
    const once = await run("", { email: "b" }, origin)
    expect(await run("", { email: "b" }, origin)).to.deep.equal(once)
    expect(await bench.rows(slug)).to.have.length(2)
  })

  describe("stamps", () => {
    const stamp = { variant: "b", artifact_id: "p", page_url: "https://x.test", device_type: "mobile", country: "", is_test: false }

    it("columns that are absent or null, and no other", async () => {
      await run("", { variant: null, page_url: "", device_type: "fridge", email: "a" }, { stamp })
      expect(await values()).to.deep.equal([
        { variant: "b", page_url: "", device_type: "fridge", email: "a", artifact_id: "p", country: "", is_test: false },
      ])
    })

    it("without changing the event that the next step sees", async () => {
      const event = { email: "a" }
      await run("", event, { stamp })
      expect(event).to.deep.equal({ email: "a" })
    })

    const cases: [string, boolean, Json | undefined, boolean, boolean][] = [
      ["a marker over the row's false", true, false, true, true],
      ["a marker over nothing", true, undefined, true, true],
      ["the row's true", false, true, false, true],
      ["the row's false", false, false, false, false],
      ["the stamp's true where the row says nothing", false, undefined, true, true],
      ["the stamp's true where the row says null", false, null, true, true],
      ["false where the row says something else", false, "true", false, false],
      ["false where the row says 1", false, 1, false, false],
      ["false where nobody says anything", false, undefined, false, false],
    ]
    for (const [what, marker, input, stampedAs, expected] of cases) {
      it(`is_test: ${what}`, async () => {
        const event = input === undefined ? { email: "a" } : { email: "a", is_test: input }
        await run("", event, { stamp: { is_test: stampedAs }, ...marked(marker) })
        expect((await values())[0]?.["is_test"]).to.equal(expected)
      })
    }
  })

  it("refuses an event that is not an object, and says what to do", async () => {
    for (const event of [["a"], "text", 5, null] as Json[]) {
      const error = await refusalOf(run("", event))
      expect(error.details).to.include({ reason: "event_not_an_object", retryable: false })
    }
    expect((await refusalOf(run("", ["a"]))).message).to.include("for_each")
    expect(await values()).to.deep.equal([])
  })

  describe("when it is saved", () => {
    const problems = (yaml: string) => {
      const { schemaProblems, templateProblems } = compiled(datasetWrite, yaml)
      return [...schemaProblems, ...templateProblems]
    }

    it("takes a slug or a qualified one, and refuses a UUID, a template and nothing", () => {
      expect(problems("dataset_slug: leads")).to.deep.equal([])
      expect(problems("dataset_slug: acme.leads")).to.deep.equal([])
      for (const wrong of [
        "dataset_slug: 0190a000-0000-7000-8000-000000000001",
        "dataset_slug: Leads",
        "dataset_slug: a.b.c",
        'dataset_slug: "{{ event.to }}"',
        "key: email",
      ]) {
        expect(problems(wrong), wrong).to.not.deep.equal([])
      }
    })

    it("refuses keys and columns that no row can have, and unknown fields", () => {
      for (const wrong of ["key: a.b", "key: $a", 'key: ""', "column: x"]) {
        expect(problems(`dataset_slug: leads\n${wrong}`), wrong).to.not.deep.equal([])
      }
      expect(findings(datasetWrite, "dataset_slug: leads\nrow: { a.b: 1 }")).to.deep.equal(["error column-name"])
    })

    it("refuses a key that the row leaves out", () => {
      expect(findings(datasetWrite, "dataset_slug: leads\nkey: email\nrow: { name: x }")).to.deep.equal(["error key-not-in-row"])
      expect(findings(datasetWrite, 'dataset_slug: leads\nkey: email\nrow: { email: "{{ event.email }}" }')).to.deep.equal([])
      expect(findings(datasetWrite, "dataset_slug: leads\nkey: email")).to.deep.equal([])
    })

    it("says which dataset it writes to, and by which column", () => {
      const { parsed } = compiled(datasetWrite, "dataset_slug: acme.leads\nkey: email")
      expect(datasetWrite.writesTo?.(parsed as never)).to.deep.equal(["acme.leads"])
      expect(datasetWrite.keyedBy?.(parsed as never)).to.equal("email")
    })
  })

  describe("examples", () => {
    for (const { title, yaml } of datasetWrite.examples) {
      it(`${title}: compiles and runs`, async () => {
        const target = /dataset_slug: (\S+)/.exec(yaml)?.[1] ?? ""
        await bench.ensure(target)
        const ran = await runStep(datasetWrite, yaml, {
          deps: { datasets: bench.datasets },
          event: { email: "ada@example.com", budget: 1_000 },
          context: { organization: bench.home },
        })
        await bench.service.get(Store).commit(ran.work.commit)
        expect((await bench.rows(target))[0]?.values).to.include({ email: "ada@example.com", budget: 1_000 })
      })
    }
  })
})
