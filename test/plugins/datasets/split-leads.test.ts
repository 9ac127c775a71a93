// The rule split-leads-dataset: its findings for saved documents, and its cost with many documents.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { CrossDocumentRules } from "../../../core/contract/lint-rule.ts"
import datasets from "../../../plugins/data/datasets/index.ts"
import { Bench } from "../../pipeline/bench.ts"
import { declaredBy } from "../declared-by.ts"

const splitLeads = declaredBy(datasets).get(CrossDocumentRules, "split-leads-dataset") ?? expect.fail("no rule")

describe("split leads among many documents", () => {
  const documents = (count: number, datasetOf: (index: number) => string) => {
    let reads = 0
    const created = Array.from({ length: count }, (_, index) => ({
      slug: `pipeline-${index}`,
      active: true,
      acknowledged: [],
      request_schema: null,
      get pipeline() {
        reads++
        return [{ type: "dataset.write", dataset_slug: datasetOf(index), key: "email" }]
      },
      upserts: [{ dataset: datasetOf(index), key: "email" }],
      writesTo: [`default.${datasetOf(index)}`],
    }))
    return { made: created, reads: () => reads }
  }

  it("read each document once, however many lie beside it", () => {
    const { made: created, reads } = documents(200, () => "leads")
    expect(splitLeads.check(created)).to.deep.equal(created.map(() => undefined))
    expect(reads()).to.equal(200)
  })

  it("name five of the others, and one whose dataset has a collision suffix though it comes later", () => {
    const { made: created, reads } = documents(40, (index) => (index === 30 ? "leads" : index === 39 ? "leads-2" : `dataset-of-${index}`))
    const matches = splitLeads.check(created)
    const { message = "", pointer } = matches[30] ?? {}
    expect(pointer).to.equal("/pipeline/0/dataset_slug")
    expect(message.match(/"pipeline-\d+" to /g)).to.deep.equal([0, 1, 2, 3, 4].map((index) => `"pipeline-${index}" to `))
    expect(message).to.include("leads-2 looks like the same dataset").and.not.include('"pipeline-39" to')
    expect(matches.every((item) => item !== undefined)).to.equal(true)
    // One read for its target dataset, and one for the place of its finding.
    expect(reads()).to.equal(80)
  })
})

describe("leads that split over datasets", () => {
  const write = { type: "dataset.write", dataset_slug: "leads", key: "email" }
  let host: TestHost
  let bench: Bench
  before(async () => {
    host = await testHost()
    bench = new Bench(host)
  })
  after(() => host.stop())
  const put = (slug: string, change: object) => host.api<{ warnings: string[] }>("PUT", `/v1/event-pipelines/${slug}`, change)

  it("are warned of when a document is saved", async () => {
    await bench.make({ name: "Split one", pipeline: [{ ...write, dataset_slug: "customers" }] })
    const { warnings } = await bench.make({ name: "Split two", pipeline: [{ ...write, dataset_slug: "customers-2" }] })
    const warning = warnings.find((text) => text.startsWith("split-leads-dataset"))
    expect(warning).to.include("customers-2").and.to.include("default.customers").and.to.include("collision suffix")
    await put("split-one", { state: "disabled" })
    const later = await put("split-two", { name: "Split II" })
    expect(later.status).to.equal(200)
    expect(later.body.warnings.join()).not.to.include('"split-one" to')
  })

  it("are warned of in what will be active, by any key of emails, until the warning is acknowledged", async () => {
    const warned = ({ warnings }: { warnings: string[] }) => warnings.some((text) => text.startsWith("split-leads-dataset"))
    const schema = { type: "object", properties: { contact: { type: "string", format: "email" } } }
    await bench.make({ name: "Lead base", pipeline: [{ ...write, dataset_slug: "lead-base" }] })
    const draft = await bench.make({ name: "Lead draft", state: "proposed", pipeline: [{ ...write, dataset_slug: "lead-draft" }] })
    expect(warned(draft)).to.equal(false)
    expect(warned((await put("lead-draft", { state: "active" })).body)).to.equal(true)
    const keyed = { type: "dataset.write", dataset_slug: "lead-keyed", key: "contact" }
    expect(warned(await bench.make({ name: "Lead keyed", request_schema: schema, pipeline: [keyed] }))).to.equal(true)
    const unkeyed = { id: "w", type: "dataset.write", dataset_slug: "lead-log", row: { work_mail: "{{ event.mail }}" } }
    expect(warned(await bench.make({ name: "Lead log", pipeline: [unkeyed] }))).to.equal(true)
    for (const [key, isNamed] of [
      ["mail", true],
      ["phone", true],
      ["mobileNumber", true],
      ["microphone", false],
      ["order_number", false],
      ["userEmail", true],
      ["lead_email_address", true],
      ["voicemail", false],
      ["mailing_list", false],
    ] as const) {
      const pipeline = await bench.make({
        name: `Lead ${key}`,
        pipeline: [{ type: "dataset.write", dataset_slug: `by-${key.toLowerCase().replaceAll("_", "-")}`, key }],
      })
      expect(warned(pipeline), key).to.equal(isNamed)
      await put(pipeline.slug, { state: "disabled" })
    }
    const both = [
      { ...write, dataset_slug: "lead-more" },
      { ...write, id: "again", dataset_slug: "lead-base" },
    ]
    const shared = await bench.make({ name: "Lead shared", pipeline: both })
    expect(shared.warnings.join()).to.not.include('"lead-base" to')
    const { body } = await put("lead-keyed", { acknowledged_warnings: ["split-leads-dataset"] })
    expect([warned(body), (body as unknown as { acknowledged_warnings: string[] }).acknowledged_warnings]).to.deep.equal([
      false,
      ["split-leads-dataset"],
    ])
    for (const slug of ["lead-base", "lead-draft", "lead-keyed", "lead-log", "lead-shared"]) await put(slug, { state: "disabled" })
  })

  it("include unkeyed rows with unknown columns, also of a pipeline that was there first", async () => {
    const warning = ({ warnings }: { warnings: string[] }) => warnings.find((text) => text.startsWith("split-leads-dataset")) ?? ""
    await bench.make({ name: "Unkeyed", pipeline: [{ type: "dataset.write", dataset_slug: "unkeyed-leads", id: "w" }] })
    const keyed = await bench.make({ name: "Keyed", pipeline: [{ ...write, dataset_slug: "keyed-leads" }] })
    expect(warning(keyed)).to.include('"unkeyed" to default.unkeyed-leads')
    await put("unkeyed", { state: "disabled" })
    const existing = { type: "dataset.write", dataset_slug: "ratings", row: { stars: "{{ event.stars }}" } }
    expect(warning(await bench.make({ name: "Ratings", pipeline: [existing] }))).to.equal("")
    await put("keyed", { state: "disabled" })
  })
})
