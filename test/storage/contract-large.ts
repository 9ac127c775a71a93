// The contract of large reads: the main thread parses them in pieces.
import { expect } from "chai"
import { expectShortTurn, repeatedLongestTurn } from "../longest-turn.ts"
import type { Bench, Note } from "./contract.ts"

const count = 240
const perCommit = 20
export const largeList = Array.from({ length: 1_000 }, (_, n) => ({ n, text: `value ${n}` }))

export function largeContract(bench: Bench): void {
  it("leaves the main thread to others while a page of 8 MB is found", async () => {
    const large = bench.id("large")
    for (let from = 0; from < count; from += perCommit)
      await bench.insert(
        ...Array.from({ length: perCommit }, (_, n): Note => ({ id: bench.id(large), rank: from + n, large, list: largeList })),
      )
    const find = () => bench.notes().find({ large }, { sort: { rank: 1 }, limit: count })
    const { milliseconds, value } = await repeatedLongestTurn(find)
    expect(value.map(({ rank }) => rank)).to.deep.equal(Array.from({ length: count }, (_, at) => at))
    expect(value.at(-1)?.["list"]).to.deep.equal(largeList)
    expectShortTurn(milliseconds, "a page of 8 MB")
  })
}
