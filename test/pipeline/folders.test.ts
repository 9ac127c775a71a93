// The folders of the pipeline import one way, so that each can be read without the ones that use it.
import { expect } from "chai"
import { readModules } from "../import-graph.ts"

describe("folders of the pipeline", () => {
  it("never import each other both ways", () => {
    const folderOf = (path: string) => /^core\/pipeline\/(\w+)\/./.exec(path)?.[1]
    const pairs = new Set<string>()
    for (const { path, imports } of readModules(["core"]).values()) {
      for (const { target } of imports) {
        const [from, to] = [folderOf(path), folderOf(target)]
        if (from && to && from !== to) pairs.add(`${from} imports ${to}`)
      }
    }
    expect([...pairs]).to.include.members(["sources imports event", "event imports run", "run imports journal", "lint imports compile"])
    const both = [...pairs].filter((pair) => pairs.has(pair.split(" ").reverse().join(" ")))
    expect(both).to.deep.equal([])
  })
})
