// The JSON-Schema-Test-Suite (drafts 7 and 2020-12) through the real sandbox. Each schema is compiled as a pipeline's, each
// instance is an event's body.
// Read from MILLRACE_TEST_VECTORS, or from the vectors folder beside the project.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { expect } from "chai"
import type { ProgramProblem, Sandbox } from "../../../core/pipeline/sandbox/sandbox.ts"
import { callOf, sandboxUnderTest } from "./sandbox-under-test.ts"
import { knownFailures } from "./schema-exceptions.ts"

interface Case {
  readonly description: string
  readonly schema: unknown
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[]
}

const vectors = process.env["MILLRACE_TEST_VECTORS"] ?? fileURLToPath(new URL("../../../../shared/vectors", import.meta.url))
const suite = join(vectors, "json-schema", "tests")
const dialects = { draft7: "http://json-schema.org/draft-07/schema#", "draft2020-12": "https://json-schema.org/draft/2020-12/schema" }

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".json"))
    .map((name) => join(folder, name))
    .sort()
}

function withDialect(schema: unknown, dialect: string): unknown {
  return typeof schema === "object" && schema !== null && !("$schema" in schema) ? { $schema: dialect, ...schema } : schema
}

/** Refused: references to other documents, and dialects defined by them. */
function isRefusedByDesign({ message, pointer = "" }: ProgramProblem, schema: unknown): boolean {
  if (!JSON.stringify(schema).includes('"http://localhost:1234/') && !JSON.stringify(schema).includes(".json")) return false
  return (message.includes("is outside the document") && pointer.endsWith("/$ref")) || pointer === "/$schema"
}

/** Formats are asserted here, regardless of the dialect's default. */
function expectedOf({ description, valid }: { description: string; valid: boolean }): boolean {
  return description.endsWith("is only an annotation by default") ? false : valid
}

describe("JSON-Schema-Test-Suite", () => {
  if (!existsSync(suite)) {
    it("is not here", function () {
      console.warn(`\n*** NOT TESTED: the JSON-Schema-Test-Suite. ${suite} is absent; set MILLRACE_TEST_VECTORS. ***\n`)
      this.skip()
    })
    return
  }
  let sandbox: Sandbox
  const failures = new Set<string>()
  let cases = 0

  before(async () => {
    sandbox = sandboxUnderTest({ settings: { timeout_ms: 1_000, hard_deadline_ms: 4_000 } })
    await sandbox.start()
  })
  after(() => sandbox.stop())

  async function check(name: string, testCase: Case, dialect: string): Promise<void> {
    const schema = withDialect(testCase.schema, dialect)
    const { program, problems } = await sandbox.compile({ organization: "acme", schema, transform: "function transform() { return {} }" })
    if (!program) {
      if (!problems.some((problem) => isRefusedByDesign(problem, testCase.schema))) failures.add(`${name} | refused`)
      return
    }
    const results = await Promise.all(
      testCase.tests.map((test) => sandbox.run(callOf(program, JSON.stringify(test.data), { pipelineId: name }))),
    )
    results.forEach((result, i) => {
      cases++
      const test = testCase.tests[i]
      if (test && (result.ok !== expectedOf(test) || (!result.ok && result.kind !== "invalid")))
        failures.add(`${name} | ${test.description}`)
    })
  }

  for (const [draft, dialect] of Object.entries(dialects)) {
    for (const file of filesUnder(join(suite, draft))) {
      const title = relative(suite, file).replace(/\.json$/, "")
      it(title, async () => {
        const before = failures.size
        const all = JSON.parse(readFileSync(file, "utf8")) as Case[]
        for (const testCase of all) await check(`${title} | ${testCase.description}`, testCase, dialect)
        const unexpected = [...failures].slice(before).filter((failure) => !knownFailures.has(failure))
        expect(unexpected).to.deep.equal([])
      })
    }
  }

  it("ran the whole suite", () => expect(cases).to.be.greaterThan(3_000))
  it("keeps no exception that holds no more", () => {
    expect([...knownFailures].filter((name) => !failures.has(name))).to.deep.equal([])
  })
})
