// Every rule of the compiler, by its own examples: the bad one has the finding, the good one has not and compiles.
import { expect } from "chai"
import { compileText } from "../../core/pipeline/compile.ts"
import { type RuleId, rules } from "../../core/pipeline/rules/rules.ts"
import { environment } from "./doubles.ts"

async function findingsOf(example: string) {
  const { compilation } = await compileText(`name: Example\n${example}\n`, environment, { refuseLiteralSecrets: true })
  return compilation.findings
}

describe("lint rules", () => {
  it("are many", () => {
    expect(Object.keys(rules).length).to.be.at.least(25)
  })

  for (const id of Object.keys(rules) as RuleId[]) {
    const rule = rules[id]
    // What files have only beside each other is tried in test/cli/rules.test.ts.
    if (rule.bad.includes("\n---\n")) continue
    it(`${id}: ${rule.summary}`, async () => {
      const bad = (await findingsOf(rule.bad)).filter((finding) => finding.rule === id)
      expect(bad, rule.bad).to.have.length(1)
      expect(bad[0]?.level).to.equal(rule.level)
      expect(bad[0]?.line).to.be.at.least(1)
      const good = await findingsOf(rule.good)
      expect(good.filter((finding) => finding.level === "error" || finding.rule === id)).to.deep.equal([])
    })
  }
})
