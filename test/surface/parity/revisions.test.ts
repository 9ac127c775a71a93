// Every operation with `expected_revision`: a call for another revision than the stored one.
import { expect } from "chai"
import { wireSchema } from "../../../core/surface/wire-schema.ts"
import { sampleOf } from "../../tier.ts"
import { openParityFixture, type ParityFixture, shippedOperations } from "./fixture.ts"
import { giving, liftGates, members, placed } from "./members.ts"
import { type Input, surfaces } from "./surfaces.ts"
import { sayable } from "./wording.ts"

const operations = (await shippedOperations()).filter(({ input }) =>
  Object.hasOwn((wireSchema(input, "input")["properties"] ?? {}) as object, "expected_revision"),
)

describe("a call for another revision", () => {
  let fixture: ParityFixture
  let count = 0
  before(async () => {
    fixture = await openParityFixture()
  })
  after(() => fixture.host.stop())

  it("is declared by every area with revisions", () => {
    const areas = new Set(operations.map(({ name }) => name.replace(/\..*/, "")))
    expect(areas).to.include.keys("agents", "datasets", "evals", "event_pipelines", "experiments", "heartbeats", "knowledge", "pages")
  })

  for (const operation of sampleOf(operations)) {
    it(`is refused and changes nothing: ${operation.name}`, async () => {
      const [member] = await members(fixture, [`revisions-${++count}`], operation)
      if (!member) throw new Error("no member")
      await liftGates(fixture, member)
      const example = operation.examples?.[0]
      const input = placed(example?.input, await giving(fixture, member, example?.given)) as Input
      const call = (more: Input) =>
        surfaces.rest(operation, sayable(operation, { ...input, ...more }), { url: fixture.host.url, key: member.key })
      for (const expected_revision of [7_000, 7_001]) {
        const { code, text } = await call({ expected_revision })
        expect([code, /"reason":"(\w+)"/.exec(text)?.[1]], text).to.deep.equal(["aborted", "revision_mismatch"])
        expect(text).to.include('"current_revision":')
      }
      // The stored revision is still the one of the example.
      const { code, text } = await call({})
      expect(code, text).to.equal(undefined)
    })
  }
})
