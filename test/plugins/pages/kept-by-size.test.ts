// What is kept of pages: the ones asked for last, up to an amount of text.
import { expect } from "chai"
import { KeptBySize } from "../../../plugins/pages/pages/kept-by-size.ts"

const half = 16 << 20

describe("pages that are kept by their size", () => {
  const cache = () => new KeptBySize<{ readonly characters: number }>(({ characters }) => characters)
  const page = (characters: number) => ({ characters })

  it("stay while all of them are small", () => {
    const kept = cache()
    for (let number = 0; number < 5_000; number++) kept.set(`page ${number}`, page(1_000))
    for (let number = 0; number < 5_000; number++) expect(kept.get(`page ${number}`), `page ${number}`).to.deep.equal(page(1_000))
  })

  it("go when others need the room, the one asked for longest ago first", () => {
    const kept = cache()
    kept.set("first", page(half - 1_000))
    kept.set("second", page(half - 1_000))
    kept.get("first")
    kept.set("third", page(half - 1_000))
    expect(kept.get("second")).to.equal(undefined)
    expect([kept.get("first"), kept.get("third")]).to.deep.equal([page(half - 1_000), page(half - 1_000)])
  })

  it("count once, however often they are set", () => {
    const kept = cache()
    kept.set("other", page(1_000))
    for (let turn = 0; turn < 100; turn++) kept.set("page", page(half))
    expect(kept.get("other")).to.deep.equal(page(1_000))
    kept.clear()
    expect([kept.get("other"), kept.get("page")]).to.deep.equal([undefined, undefined])
    kept.set("one", page(half - 1_000))
    kept.set("two", page(half - 1_000))
    expect(kept.get("one")).to.deep.equal(page(half - 1_000))
  })

  it("have a cost when they are empty, and are not kept when they alone are too much", () => {
    const kept = cache()
    for (let number = 0; number < 200_000; number++) kept.set(`page ${number}`, page(0))
    expect(kept.get("page 0")).to.equal(undefined)
    kept.set("large", page(3 * half))
    expect(kept.get("large")).to.equal(undefined)
  })
})
