// The page on reliability: its output blocks come from the command, and its commands exist.
import { existsSync, globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { projectRoot } from "../import-graph.ts"
import { withPrinted } from "./page.ts"

const page = readFileSync(join(projectRoot, "docs/reliability.md"), "utf8")

describe("docs/reliability.md", () => {
  it("names test files that there are", () => {
    const names = [...page.matchAll(/`npx mocha '?([^'`]+)'?`/g)].map(([, path]) => path ?? "")
    expect(names.length).to.be.at.least(10)
    const missing = names.filter((path) => !existsSync(join(projectRoot, path)) && globSync(path, { cwd: projectRoot }).length === 0)
    expect(missing).to.deep.equal([])
  })

  it("holds what kills printed, and it was printed of books that were right", () => {
    const blocks = [...page.matchAll(/<!-- printed (\w+) -->\n([\s\S]*?)<!-- end -->/g)]
    expect(blocks.map(([, name]) => name)).to.deep.equal(["process"])
    for (const [, name, text = ""] of blocks) {
      if (text === "") continue
      expect(text, name).to.match(/^\n\d{4}-\d\d-\d\d, .+:\n\n```text\n\$ npm run test:crash -- --kills \d+[^\n]*\n(\d+ kills: [^\n]+\n)+/)
      expect(text, name).to.match(
        /\d+ kills in \d+ s: \d+ events acknowledged, \d+ unanswered at the kills \(\d+ at least\), 0 problems\n```\n\n$/,
      )
    }
  })

  it("is written block by block", () => {
    const printed = { command: "--kills 1", date: "2026-01-02", machine: "a machine", lines: ["one", "two"] }
    const text = withPrinted("x\n<!-- printed process -->\nold\n<!-- end -->\ny", "process", printed)
    expect(text).to.equal(
      "x\n<!-- printed process -->\n\n2026-01-02, a machine:\n\n```text\n$ npm run test:crash -- --kills 1\none\ntwo\n```\n\n<!-- end -->\ny",
    )
    expect(() => withPrinted("nothing", "process", printed)).to.throw("printed process")
  })
})
