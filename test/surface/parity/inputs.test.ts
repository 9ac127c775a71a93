// Whatever is sent to any operation, right or broken, is answered as the contract says: never a 5xx, never a stack
// trace, never a code outside the closed set or outside what the operation declares.
import { expect } from "chai"
import fc from "fast-check"
import type { AnyOperation } from "../../../core/contract/operation.ts"
import { httpStatusOf } from "../../../core/kernel/errors.ts"
import { wireSchema } from "../../../core/surface/wire-schema.ts"
import { inputsOf } from "./inputs.ts"
import { type WholeHouse, wholeHouse } from "./whole-house.ts"

const runs = Number(process.env["MILLRACE_TEST_RUNS"] ?? 30)
/** What any operation may answer besides what it declares. */
const always = ["invalid_argument", "permission_denied", "resource_exhausted", "unauthenticated"]

describe("any input", function () {
  this.timeout(180_000)
  let house: WholeHouse
  before(async () => {
    house = await wholeHouse()
  })
  after(() => house.host.stop())

  it("is answered, not failed", async () => {
    const shares: string[] = []
    const problems: string[] = []
    for (const operation of house.operations) {
      // Ending the key that the test itself uses says nothing about inputs.
      const key = operation.name === "api_keys.revoke" ? await house.key({ role: "member" }) : house.host.adminKey
      const { succeeded, problem } = await tried(house, operation, key)
      shares.push(`${operation.name} ${Math.round((100 * succeeded) / runs)}%`)
      if (problem) problems.push(problem)
    }
    console.log(`    share of inputs that succeeded: ${shares.join(", ")}`)
    expect(problems.join("\n\n")).to.equal("")
    const none = shares.filter((share) => share.endsWith(" 0%")).length
    expect(none, "operations of which no generated input succeeded").to.be.lessThan(shares.length / 2)
  })
})

async function tried(house: WholeHouse, operation: AnyOperation, key: string): Promise<{ succeeded: number; problem: string | undefined }> {
  const inputs = inputsOf(wireSchema(operation.input, "input"), house.own)
  let succeeded = 0
  const property = fc.asyncProperty(inputs, fc.boolean(), async (input, overMcp) => {
    const onMcp = overMcp && !operation.streams && !(operation.mcp && "absent" in operation.mcp)
    const answer = onMcp ? await house.mcp(operation, input, key) : await house.rest(operation, input, key)
    const place = `${answer.status} ${answer.text.slice(0, 500)}`
    if (answer.status >= 500 || /\n\s+at |node_modules|\.ts:\d/.test(answer.text.slice(0, 20_000))) throw new Error(place)
    if (answer.code === undefined) {
      if (answer.status >= 300) throw new Error(`no error body: ${place}`)
      succeeded++
      return
    }
    if (!(answer.code in httpStatusOf) || httpStatusOf[answer.code as keyof typeof httpStatusOf] >= 500) throw new Error(place)
    if (![...always, ...operation.errors].includes(answer.code)) throw new Error(`undeclared code: ${place}`)
  })
  const details = await fc.check(property, { numRuns: runs, endOnFailure: true })
  if (!details.failed) return { succeeded, problem: undefined }
  const cause = details.errorInstance instanceof Error ? details.errorInstance.message : String(details.errorInstance)
  return {
    succeeded,
    problem: `${operation.name} (seed ${details.seed}): ${JSON.stringify(details.counterexample).slice(0, 600)}\n  ${cause}`,
  }
}
