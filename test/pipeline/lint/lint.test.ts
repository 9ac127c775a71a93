// Every rule of the compiler by its own examples: the bad one has the finding, the good one has no finding and compiles.
import { expect } from "chai"
import { compileText } from "../../../core/pipeline/compile.ts"
import { type RuleId, rules } from "../../../core/pipeline/findings.ts"
import { environment } from "../doubles.ts"

async function findingsOf(example: string) {
  const { compilation } = await compileText(`name: Example\n${example}\n`, environment, { refuseLiteralSecrets: true })
  return compilation.findings
}

describe("lint rules", () => {
  for (const id of Object.keys(rules) as RuleId[]) {
    const rule = rules[id]
    // test/cli/rules.test.ts covers rules across files.
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

describe("findings", () => {
  it("name the step after which a respond would come too late, and what to do", async () => {
    const late =
      "pipeline:\n  - { id: mail, type: email.send, to: a@b.test, heading: Hi }\n  - { id: answer, type: respond, needs: [mail], body: {} }"
    const [finding] = (await findingsOf(late)).filter(({ rule }) => rule === "deferred-respond")
    expect(finding?.message).to.equal(
      '"answer" comes after "mail", which runs after the reply. Give "mail" "await: true", or do not let "answer" need or read it.',
    )
  })

  it("refuse a dataset that an action names by its UUID", async () => {
    const uuid = "pipeline:\n  - { type: dataset.write, dataset_slug: 018f3b6e-0000-7000-8000-000000000000, key: email }"
    const findings = (await findingsOf(uuid)).filter(({ rule }) => rule === "invalid-field")
    expect(findings.map(({ pointer }) => pointer)).to.deep.equal(["/pipeline/0/dataset_slug"])
    expect(findings[0]?.message).to.include("is a UUID")
  })
})
