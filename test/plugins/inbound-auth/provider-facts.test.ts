// The provider table: each row has the date and the sources of its facts.
import { expect } from "chai"
import { providerPage } from "../../../plugins/inbound-auth/provider-page.ts"
import { ProviderRow, providerRows } from "../../../plugins/inbound-auth/providers/table.ts"

describe("facts about providers", () => {
  it("have a date and the vendor's page in each row, and on the page of the reference", () => {
    const lines = providerPage().split("\n")
    for (const { slug, facts } of providerRows) {
      expect(Date.parse(facts.date), slug).to.be.at.least(Date.parse("2026-01-01"))
      expect(facts.sources[0], slug).to.match(/^https:\/\//)
      expect(
        lines.find((line) => line.startsWith(`| \`${slug}\` |`)),
        slug,
      )
        .to.include(facts.date)
        .and.include(facts.sources[0])
    }
  })

  it("are refused without a date or a source", () => {
    const [row] = providerRows
    for (const facts of [
      undefined,
      { date: "2026-11-20" },
      { date: "2026-11-20", sources: [] },
      { date: "November", sources: ["https://vendor.example"] },
    ])
      expect(ProviderRow.safeParse({ ...row, facts }).success, JSON.stringify(facts)).to.equal(false)
  })
})
