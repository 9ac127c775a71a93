// Every lint rule of the compiler and of the shipped actions. The real compiler reports the finding for its bad example but not
// for its good one.
// Its page shows both.

import { join } from "node:path"
import { expect } from "chai"
import { type Declarations, loadDeclarations } from "../../core/bootstrap/plugins.ts"
import { allRules, findingsOf, type NamedRule, rulePages } from "../../core/cli/reference/rules.ts"
import { Actions } from "../../core/contract/action.ts"
import { CrossDocumentRules } from "../../core/contract/lint-rule.ts"
import { loadConfig } from "../../core/kernel/config.ts"
import { compilerFor, type LocalCompiler } from "../../core/rehearsal/compiler.ts"
import { projectRoot, readModules } from "../import-graph.ts"

const { config } = loadConfig({ defaults: join(projectRoot, "config/default.yaml"), env: {} })

describe("lint rules as they are compiled", () => {
  let declarations: Declarations
  let compiler: LocalCompiler
  let rules: NamedRule[]
  before(async () => {
    declarations = await loadDeclarations({ config, root: projectRoot })
    compiler = compilerFor(declarations, config, "acme")
    rules = allRules(declarations.registry.items(Actions), declarations.registry.items(CrossDocumentRules))
  })
  after(() => compiler.stop())

  it("are found in their bad examples, at their level, and not in their good ones", async () => {
    for (const { id, level, bad, good } of rules) {
      const findings = (await findingsOf(bad, compiler)).map(({ finding }) => finding)
      const own = findings.filter(({ rule }) => rule === id)
      expect(
        own.map((finding) => finding.level),
        `${id}\n${bad}`,
      ).to.include(level)
      const others = (await findingsOf(good, compiler)).filter(({ finding }) => finding.rule === id || finding.level === "error")
      expect(others, `${id}\n${good}`).to.deep.equal([])
    }
  })

  it("each have a name of their own and a page, with what the compiler says", async () => {
    expect(new Set(rules.map(({ id }) => id)).size).to.equal(rules.length)
    const pages = await rulePages(declarations)
    for (const { id, summary, why, remedy } of rules) {
      const page = pages[`docs/rules/${id}.md`] ?? ""
      expect(page, id).to.include(summary).and.include(why).and.include(remedy)
      expect(pages["docs/rules/README.md"]).to.include(`[${id}](${id}.md)`)
      expect(page, id).to.match(new RegExp(`^\\d+:\\d+ (error|warning) ${id}$`, "m"))
    }
  })

  it("are declared wherever an action speaks of one", () => {
    const spoken = [...readModules(["plugins/capture/actions"]).values()].flatMap(({ text }) =>
      [...text.matchAll(/\brule: "([a-z-]+)"/g)].map(([, id = ""]) => id),
    )
    expect(spoken).to.not.have.length(0)
    expect(rules.map(({ id }) => id)).to.include.members(spoken)
  })
})
