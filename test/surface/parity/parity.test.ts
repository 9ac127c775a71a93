// Every operation with the same inputs over REST, MCP, the command and the client: the same answers and the same errors. Inputs
// are drawn from the schema and near the declared examples. At least half of an operation's inputs must succeed. If its schema
// alone is not enough for this, the operation declares an example.
import { expect } from "chai"
import { z } from "zod"
import { AppError, defineOperation, definePlugin, resultOf } from "#core"
import { openParityFixture, type ParityFixture, shippedOperations } from "./fixture.ts"
import { surfacesToCompare } from "./surfaces.ts"
import { walked } from "./walk.ts"

const operations = await shippedOperations()

/** A declaration of a user's own plugin. */
const base = {
  access: { scope: "boards:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  output: z.object({ title: z.string(), dataset: z.string() }),
  errors: ["not_found"],
} as const
const input = z.strictObject({ dataset: z.uuid(), title: z.string().min(3).max(20) })
const example = { given: { dataset: "datasets.create" }, input: { dataset: resultOf("dataset.id"), title: "Board" } }
const own = [
  defineOperation({
    ...base,
    name: "boards.show",
    summary: "Show a board.",
    http: { method: "GET", path: "/v1/boards/{dataset}" },
    input,
    examples: [example],
    handle: ({ input: given }) => given,
  }),
  defineOperation({
    ...base,
    name: "boards.differ",
    summary: "Says something else over MCP.",
    http: { method: "POST", path: "/v1/boards/{dataset}/differ" },
    input,
    examples: [example],
    handle: ({ input: given, caller }) => ({ ...given, title: caller.surface === "mcp" ? "Else" : given.title }),
  }),
  defineOperation({
    ...base,
    name: "boards.refuse",
    summary: "Refuses its own example.",
    http: { method: "POST", path: "/v1/boards/{dataset}/refuse" },
    input,
    examples: [example],
    handle: () => {
      throw new AppError("not_found", "None is there.", { reason: "unknown_path" })
    },
  }),
  defineOperation({
    ...base,
    name: "boards.undeclared",
    summary: "Answers an error that it does not declare.",
    http: { method: "POST", path: "/v1/boards/undeclared" },
    input: z.strictObject({}),
    handle: () => {
      throw new AppError("aborted", "Not now.", { reason: "still_running" })
    },
  }),
  defineOperation({
    ...base,
    name: "boards.without_example",
    summary: "Needs something that no schema tells.",
    http: { method: "POST", path: "/v1/boards/without" },
    input: z.strictObject({ word: z.string() }),
    handle: ({ input: { word } }) => {
      if (word !== "sesame") throw new AppError("not_found", "Not this word.", { reason: "unknown_path" })
      return { title: word, dataset: word }
    },
  }),
]
const boards = definePlugin({ id: "boards", config: z.strictObject({}), register: (registrar) => registrar.operations(...own) })

describe("over every surface alike", () => {
  let fixture: ParityFixture
  const shares: string[] = []
  before(async () => {
    fixture = await openParityFixture({}, [boards])
  })
  after(async () => {
    console.log(`    share of inputs that succeeded: ${shares.join(", ")}`)
    await fixture.host.stop()
  })

  it("there are operations", () => {
    expect(operations.map(({ name }) => name)).to.include("datasets.create")
    expect([...fixture.operations.keys()]).to.have.members([...operations, ...own].map(({ name }) => name))
  })

  for (const [index, operation] of operations.entries()) {
    const over = surfacesToCompare(operation, index)
    // Covered by another tier.
    if (over.length === 1) continue
    it(operation.name, async () => {
      const { succeeded, tried, problem } = await walked(fixture, operation, over)
      shares.push(`${operation.name} ${Math.round((100 * succeeded) / tried)} %`)
      expect(problem).to.equal(undefined)
      const hint = "declare an example of an input that succeeds (core/contract/operation.ts)"
      expect(succeeded * 2, `${succeeded} of ${tried} inputs succeeded; ${hint}`).to.be.at.least(tried)
    })
  }

  it("an operation of somebody's own plugin is there too, and what is wrong with one is found", async () => {
    const walk = (name: string) => {
      const operation = own.find((item) => item.name === name)
      if (!operation) throw new Error(`no ${name}`)
      return walked(fixture, operation)
    }
    const right = await walk("boards.show")
    expect(right.problem).to.equal(undefined)
    expect(right.succeeded * 2).to.be.at.least(right.tried)
    expect((await walk("boards.differ")).problem).to.match(/^REST and mcp differ: title: "Board" and "Else"/)
    expect((await walk("boards.refuse")).problem).to.match(/^Its own example fails/)
    expect((await walk("boards.undeclared")).problem).to.match(/^answered an error that it does not declare/)
    expect(await walk("boards.without_example")).to.include({ succeeded: 0, problem: undefined })
  })
})
