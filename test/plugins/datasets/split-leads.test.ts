// What the rule split-leads-dataset costs beside many documents, and what it tells then.
import { expect } from "chai"
import { splitLeads } from "../../../plugins/datasets/split-leads.ts"

describe("split leads among many documents", () => {
  const documents = (count: number, datasetOf: (index: number) => string) => {
    let reads = 0
    const made = Array.from({ length: count }, (_, index) => ({
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
    return { made, reads: () => reads }
  }

  it("read each document once, however many lie beside it", () => {
    const { made, reads } = documents(200, () => "leads")
    expect(splitLeads.check(made)).to.deep.equal(made.map(() => undefined))
    expect(reads()).to.equal(200)
  })

  it("name five of the others, and one whose dataset has a collision suffix though it comes later", () => {
    const { made, reads } = documents(40, (index) => (index === 30 ? "leads" : index === 39 ? "leads-2" : `dataset-of-${index}`))
    const found = splitLeads.check(made)
    const { message = "", pointer } = found[30] ?? {}
    expect(pointer).to.equal("/pipeline/0/dataset_slug")
    expect(message.match(/"pipeline-\d+" to /g)).to.deep.equal([0, 1, 2, 3, 4].map((index) => `"pipeline-${index}" to `))
    expect(message).to.include("leads-2 looks like the same dataset").and.not.include('"pipeline-39" to')
    expect(found.every((one) => one !== undefined)).to.equal(true)
    // Once to know what it writes, and once for the place of what is told of it.
    expect(reads()).to.equal(80)
  })
})
