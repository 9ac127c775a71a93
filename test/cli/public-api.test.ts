// The public API: each export of the entry points is listed with its runtime form, has a doc comment, and changes only with the
// committed list.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { entryPoints, publicApiList, publicNames } from "../../core/cli/reference/public-api.ts"
import { projectRoot } from "../import-graph.ts"

describe("the public face", () => {
  for (const [entryPoint, file] of Object.entries(entryPoints)) {
    it(`of ${entryPoint} is listed as it is, each name explained`, async () => {
      const names = publicNames(entryPoint)
      const module = (await import(join(projectRoot, file))) as object
      const values = names.filter(({ kind }) => kind !== "type").map(({ name }) => name)
      expect(values).to.deep.equal(Object.keys(module).sort())
      expect(new Set(names.map(({ name }) => name)).size).to.equal(names.length)
      expect(names.filter(({ comment }) => comment.length < 10).map(({ name }) => name)).to.deep.equal([])
    })
  }

  it("has types beside its values", () => {
    const kinds = new Map(publicNames("#core").map(({ name, kind }) => [name, kind]))
    expect([kinds.get("defineAction"), kinds.get("Caller"), kinds.get("Clock"), kinds.get("Logger")]).to.deep.equal([
      "value",
      "type",
      "value and type",
      "type",
    ])
    expect(kinds.has("PipelineEngine"), "what drives pipelines has an entry point of its own").to.equal(false)
    expect(publicNames("#core/engine").map(({ name }) => name)).to.include("PipelineEngine")
  })

  it("is as it was reviewed: config/public-api.txt says the same", () => {
    const stored = readFileSync(join(projectRoot, "config/public-api.txt"), "utf8")
    expect(publicApiList().split("\n"), "npm run generate, and say why in the commit").to.deep.equal(stored.split("\n"))
  })
})
