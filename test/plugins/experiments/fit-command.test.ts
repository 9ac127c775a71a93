// `millrace experiments fit` on the command line.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { runIn } from "../../cli/command-line.ts"

describe("experiments fit", () => {
  let folder: string

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-fit-"))
  })

  after(() => rmSync(folder, { recursive: true, force: true }))

  const ranked = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return runIn(folder, ["experiments", "fit", "--file", name])
  }

  it("ranks the keys of a CSV file", async () => {
    const { code, output } = await ranked("right.csv", "a,b,winner,count\nred,blue,a,3\nred,blue,b,1\n")
    expect(code, output).to.equal(0)
    expect(output).to.match(/rank +key.* 1 +red .* 2 +blue /s)
  })

  it("says of every comparison that it cannot read what is wrong with which field, and ranks nothing", async () => {
    const comparisons = [
      { a: "red", b: "blue", winner: "A" },
      { a: "red", b: "red", winner: "a" },
      { a: "", b: "blue", winner: "a", counts: 2 },
      { a: "red", winner: "tie", count: 0 },
    ]
    const { code, output } = await ranked("wrong.json", JSON.stringify(comparisons))
    expect(code).to.equal(1)
    expect(output.trimEnd().split("\n")).to.deep.equal([
      "wrong.json has 6 problems:",
      '  comparison 1, winner: Expected one of "a", "b", "tie". Did you mean "a"?',
      "  comparison 2: Compare two keys: a and b are the same.",
      "  comparison 3, a: Too small: expected string to have >=1 characters.",
      '  comparison 3, counts: Unknown field "counts". Did you mean "count"?',
      "  comparison 4, b: Required: a string.",
      "  comparison 4, count: Too small: expected number to be >=1.",
    ])
  })
})
