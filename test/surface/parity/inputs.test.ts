// All inputs to any operation, valid or broken, over any surface, have contractual answers: never a 5xx, a stack trace, another
// organization's data, or an undeclared code.
import { expect } from "chai"
import fc from "fast-check"
import { exitCodeOf } from "../../../core/cli/operations/problem.ts"
import { type AnyOperation, resultPath } from "../../../core/contract/operation.ts"
import { type ErrorCode, httpStatusOf } from "../../../core/kernel/errors.ts"
import { knownFields } from "../../../core/kernel/known-fields.ts"
import { pathParameters } from "../../../core/surface/call/audit.ts"
import { wireSchema } from "../../../core/surface/wire-schema.ts"
import { drawnRuns, isFast, sampleOf } from "../../tier.ts"
import { shippedOperations } from "./fixture.ts"
import { brokenInputs, drawnInputs, nearInputs } from "./inputs.ts"
import { keyOf } from "./members.ts"
import { openParityBench, type ParityBench } from "./parity-bench.ts"
import { type Input, type Outcome, offered, type SurfaceName, surfaceNames, surfaces } from "./surfaces.ts"

const operations = await shippedOperations()
const runs = isFast ? drawnRuns : 2 * drawnRuns
/** Codes that any operation may return besides its declared ones. */
const always = ["invalid_argument", "permission_denied", "resource_exhausted", "unauthenticated"]
const trace = /\n\s+at |node_modules|\.ts:\d/

const headers = ["authorization", "x-organization-id", "x-request-id", "idempotency-key", "if-none-match", "accept-encoding", "origin"]

describe("answered, not failed", () => {
  let bench: ParityBench
  before(async () => {
    bench = await openParityBench()
    expect(bench.own.ids.length, "things of our own").to.be.greaterThan(20)
    expect(bench.foreigns.ids.length, "things of others").to.be.greaterThan(20)
  })
  after(() => bench.host.stop())

  for (const operation of sampleOf(operations)) {
    it(`is any input of ${operation.name}`, async () => {
      // Uses a separate key for operations that could end the test's own key.
      const isEnding = ["api_keys.revoke", "members.leave", "members.remove"].includes(operation.name)
      const key = isEnding ? await keyOf(bench, bench.home, "owner") : bench.home.key
      const problem = await problemOf(bench, operation, key)
      // Without `expect`, since it shortens its output.
      if (problem !== undefined) throw new Error(problem)
    })
  }

  for (const name of headers) {
    it(`is any header ${name}`, async () => {
      const texts = fc.oneof(
        fc.string({ unit: "grapheme-ascii", maxLength: 300 }),
        fc.constantFrom(
          "*",
          '"',
          'W/"',
          "Bearer",
          "Bearer  ",
          "null",
          "../..",
          "%00",
          "x".repeat(5_000),
          "ÿþ",
          bench.foreign.organization.id,
        ),
      )
      const property = fc.asyncProperty(texts, fc.constantFrom("GET", "POST"), async (text, method) => {
        const response = await fetch(`${bench.host.url}/v1/datasets`, {
          method,
          headers: { authorization: `Bearer ${bench.home.key}`, "content-type": "application/json", [name]: text },
          ...(method === "POST" ? { body: JSON.stringify({ name: "Any header" }) } : {}),
        })
        const answer = await response.text()
        expect(response.status, answer).to.be.lessThan(500)
        expect(answer).to.not.match(trace)
        for (const id of bench.foreigns.ids) if (id !== text) expect(answer).to.not.include(id)
      })
      await fc.assert(property, { numRuns: runs })
    })
  }
})

async function problemOf(bench: ParityBench, operation: AnyOperation, key: string): Promise<string | undefined> {
  const there = surfaceNames.filter((surface) => offered(operation, surface))
  const property = fc.asyncProperty(inputsOf(bench, operation), fc.constantFrom(...there), async (input, surface) => {
    const outcome = await surfaces[surface](operation, input, { url: bench.host.url, key }).catch((error: Error) => {
      throw new Error(`${surface} threw ${error.name}: ${error.message}`)
    })
    const fault =
      faultOf(operation, surface, outcome) ?? strangeFieldOf(operation, surface, input, outcome) ?? leakOf(bench, input, outcome)
    if (fault) throw new Error(`over ${surface}: ${fault}: ${outcome.status} ${outcome.text.slice(0, 500)}`)
  })
  const details = await fc.check(property, { numRuns: runs, endOnFailure: true })
  if (!details.failed) return undefined
  const cause = details.errorInstance instanceof Error ? details.errorInstance.message : String(details.errorInstance)
  return `${operation.name} (seed ${details.seed}): ${JSON.stringify(details.counterexample).slice(0, 600)}\n  ${cause}`
}

/** Valid and broken inputs that name own, foreign and missing documents. */
function inputsOf({ own, foreigns }: ParityBench, operation: AnyOperation): fc.Arbitrary<Input> {
  const schema = wireSchema(operation.input, "input")
  const existing = { slugs: own.slugs, ids: [...own.ids, ...foreigns.ids] }
  const right = drawnInputs(schema, existing)
  const example = (operation.examples?.[0]?.input ?? {}) as Input
  const plain = Object.fromEntries(Object.entries(example).filter(([, value]) => resultPath(value) === undefined))
  const near = fc
    .tuple(
      right,
      nearInputs(schema, plain, () => false),
    )
    .map(([drawn, overrides]) => ({ ...drawn, ...overrides }))
  const all = fc.oneof(
    right,
    near,
    { weight: 2, arbitrary: brokenInputs(right, schema) },
    { weight: 2, arbitrary: brokenInputs(near, schema) },
  )
  // No URL can contain these as a segment: the resulting path has another answer.
  const inPath = pathParameters(operation.http.path)
  return all.filter((input) => inPath.every((name) => input[name] !== "." && input[name] !== ".."))
}

function faultOf(operation: AnyOperation, surface: SurfaceName, { code, status, text, exitCode }: Outcome): string | undefined {
  if (status >= 500 || trace.test(text.slice(0, 20_000))) return "failed"
  if (code === undefined) return undefined
  // Errors of the command line itself.
  if (surface === "cli" && exitCode === 1 && code === "none") return undefined
  if (!(code in httpStatusOf)) return "no error body"
  if (httpStatusOf[code as ErrorCode] >= 500) return "failed"
  if (surface === "cli" && exitCode !== exitCodeOf[code as ErrorCode]) return `exit code ${exitCode}`
  return [...always, ...operation.errors].includes(code) ? undefined : "undeclared code"
}

/** A refusal names fields of the operation, or fields that the caller sent. */
function strangeFieldOf(operation: AnyOperation, surface: SurfaceName, input: Input, { code, text }: Outcome): string | undefined {
  if (surface !== "rest" || code !== "invalid_argument") return undefined
  const { details } = JSON.parse(text) as { details: { fields?: { path: string }[] } }
  const fieldNames = [...knownFields(operation.input, []), ...Object.keys(input), ""]
  const strange = details.fields?.find(({ path }) => !fieldNames.includes(path.split(".")[0] ?? ""))
  return strange && `names the field ${strange.path}, which the operation does not have`
}

/** Returns ids of other organizations that the input does not contain. */
function leakOf({ foreigns }: ParityBench, input: Input, { text }: Outcome): string | undefined {
  const inputText = JSON.stringify(input)
  const foreignId = foreigns.ids.find((id) => text.includes(id) && !inputText.includes(id))
  return foreignId && `shows ${foreignId} of another organization`
}
