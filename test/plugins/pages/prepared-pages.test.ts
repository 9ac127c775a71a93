// What is kept of pages that were served: the ones asked for last, up to an amount of HTML.
import { expect } from "chai"
import { PreparedPages } from "../../../plugins/pages/serving/prepared-pages.ts"

const page = (number: number) => ({ id: `page-${number}`, revision: 1 })
const variant = (html: string) => ({ key: "control", html })

describe("prepared pages", () => {
  it("are made once while they are asked for, and again after a change", () => {
    const prepared = new PreparedPages()
    const first = prepared.of(page(1), variant("<p>One</p>"))
    expect(prepared.of(page(1), variant("<p>One</p>"))).to.equal(first)
    expect(prepared.of({ ...page(1), revision: 2 }, variant("<p>Two</p>")).html).to.equal("<p>Two</p>")
    expect(prepared.of(page(1), { ...variant("<p>Other</p>"), key: "other" }).html).to.equal("<p>Other</p>")
  })

  it("are forgotten by how much HTML they are, the one asked for longest ago first", () => {
    const prepared = new PreparedPages()
    const large = variant("x".repeat(512 * 1_024))
    const [first, second] = [prepared.of(page(1), large), prepared.of(page(2), large)]
    for (let number = 3; number <= 100; number++) {
      prepared.of(page(number), large)
      expect(prepared.of(page(1), large), `page 1 after page ${number}`).to.equal(first)
    }
    expect(prepared.of(page(2), large)).to.not.equal(second)
  })

  it("count the places where something is put in", () => {
    const prepared = new PreparedPages()
    const crowded = variant("<form></form>".repeat(20_000))
    const first = prepared.of(page(1), crowded)
    for (let number = 2; number <= 12; number++) prepared.of(page(number), crowded)
    expect(prepared.of(page(1), crowded)).to.not.equal(first)
  })
})
