// The page cache: the most recently used pages, up to an amount of text.
import { expect } from "chai"
import { KeptBySize } from "../../../plugins/pages/pages/kept-by-size.ts"

const half = 16 << 20

describe("pages that are kept by their size", () => {
  const cache = () => new KeptBySize<{ readonly characters: number }>(({ characters }) => characters)
  const page = (characters: number) => ({ characters })

  it("stay while all of them are small", () => {
    const bySize = cache()
    for (let number = 0; number < 5_000; number++) bySize.set(`page ${number}`, page(1_000))
    for (let number = 0; number < 5_000; number++) expect(bySize.get(`page ${number}`), `page ${number}`).to.deep.equal(page(1_000))
  })

  it("go when others need the room, the one asked for longest ago first", () => {
    const bySize = cache()
    bySize.set("first", page(half - 1_000))
    bySize.set("second", page(half - 1_000))
    bySize.get("first")
    bySize.set("third", page(half - 1_000))
    expect(bySize.get("second")).to.equal(undefined)
    expect([bySize.get("first"), bySize.get("third")]).to.deep.equal([page(half - 1_000), page(half - 1_000)])
  })

  it("count once, however often they are set", () => {
    const bySize = cache()
    bySize.set("other", page(1_000))
    for (let turn = 0; turn < 100; turn++) bySize.set("page", page(half))
    expect(bySize.get("other")).to.deep.equal(page(1_000))
    bySize.clear()
    expect([bySize.get("other"), bySize.get("page")]).to.deep.equal([undefined, undefined])
    bySize.set("one", page(half - 1_000))
    bySize.set("two", page(half - 1_000))
    expect(bySize.get("one")).to.deep.equal(page(half - 1_000))
  })

  it("have a cost when they are empty, and are not kept when they alone are too much", () => {
    const bySize = cache()
    for (let number = 0; number < 200_000; number++) bySize.set(`page ${number}`, page(0))
    expect(bySize.get("page 0")).to.equal(undefined)
    bySize.set("large", page(3 * half))
    expect(bySize.get("large")).to.equal(undefined)
  })
})
