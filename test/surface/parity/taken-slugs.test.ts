// Every operation that creates a document under a slug or a key: two calls with one slug, and two calls with one name.
import { expect } from "chai"
import type { AnyOperation } from "../../../core/contract/operation.ts"
import { pathParameters } from "../../../core/surface/call/audit.ts"
import { wireSchema } from "../../../core/surface/wire-schema.ts"
import { sampleOf } from "../../tier.ts"
import { openParityFixture, type ParityFixture, shippedOperations } from "./fixture.ts"
import { giving, liftGates, members, placed } from "./members.ts"
import { type Input, surfaces } from "./surfaces.ts"
import { sayable } from "./wording.ts"

/** Name of the slug field of an operation that creates a resource. */
function slugField({ input, http, errors }: AnyOperation): string | undefined {
  const properties = (wireSchema(input, "input")["properties"] ?? {}) as Record<string, { description?: string }>
  if (http.method !== "POST" || !errors.includes("already_exists")) return undefined
  return ["slug", "key"].find((name) => properties[name] !== undefined && !pathParameters(http.path).includes(name))
}

const operations = (await shippedOperations()).filter((operation) => slugField(operation) !== undefined)

describe("a slug that is taken", () => {
  let fixture: ParityFixture
  let count = 0
  before(async () => {
    fixture = await openParityFixture()
  })
  after(() => fixture.host.stop())

  it("can be given in every area with slugs", () => {
    const areas = new Set(operations.map(({ name }) => name.replace(/\..*/, "")))
    expect(areas).to.include.keys("agents", "datasets", "evals", "event_pipelines", "experiments", "pages", "personas", "workstreams")
  })

  for (const operation of sampleOf(operations)) {
    it(`is refused with slug_taken, and free in another organization: ${operation.name}`, async () => {
      const field = slugField(operation) ?? ""
      const slug = `taken-${++count}`
      const created = async (member: string) => {
        const [item] = await members(fixture, [member], operation)
        if (!item) throw new Error("no member")
        await liftGates(fixture, item)
        const example = operation.examples?.[0]
        const input = placed(example?.input, await giving(fixture, item, example?.given)) as Input
        const call = () =>
          surfaces.rest(operation, sayable(operation, { ...input, [field]: slug }), { url: fixture.host.url, key: item.key })
        return { first: await call(), second: await call() }
      }
      const { first, second } = await created(`slugs-${count}`)
      expect(first.code, first.text).to.equal(undefined)
      expect([second.code, /"reason":"(\w+)"/.exec(second.text)?.[1]], second.text).to.deep.equal(["already_exists", "slug_taken"])
      if (operation.name === "organizations.create") return
      const elsewhere = await created(`other-slugs-${count}`)
      expect(elsewhere.first.code, elsewhere.first.text).to.equal(undefined)
    })
  }
})
