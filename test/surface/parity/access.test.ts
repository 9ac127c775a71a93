// Every registered operation, as a stranger, a token without its scope, a role too low and a neighbour meets it, over
// REST and MCP alike.
import { expect } from "chai"
import { roles } from "#core"
import type { AnyOperation } from "../../../core/contract/operation.ts"
import { httpStatusOf } from "../../../core/kernel/errors.ts"
import { pathParameters } from "../../../core/surface/call/audit.ts"
import { exampleOf } from "../../../core/surface/openapi/example.ts"
import { wireSchema } from "../../../core/surface/wire-schema.ts"
import { type WholeHouse, wholeHouse } from "./whole-house.ts"

const unknownId = "0199f3a2-7c1e-7d40-9b3a-5e2f6c8d1a04"

describe("every operation", function () {
  this.timeout(60_000)
  let house: WholeHouse
  let document: { paths: Record<string, Record<string, { responses: Record<string, { description?: string; $ref?: string }> }>> }
  before(async () => {
    house = await wholeHouse()
    document = (await house.host.api<typeof document>("GET", "/openapi.json")).body
    expect(house.operations.length).to.be.greaterThan(30)
  })
  after(() => house.host.stop())

  const onMcp = (operation: AnyOperation) => !operation.streams && !(operation.mcp && "absent" in operation.mcp)
  const eachOperation = async (check: (operation: AnyOperation) => Promise<string | undefined>) => {
    const problems: string[] = []
    for (const operation of house.operations) {
      const problem = await check(operation)
      if (problem !== undefined) problems.push(`${operation.name}: ${problem}`)
    }
    expect(problems).to.deep.equal([])
  }

  it("declares errors of the closed set, each with a place in the OpenAPI document", async () => {
    await eachOperation(async ({ errors, http }) => {
      const unknown = errors.filter((code) => !(code in httpStatusOf))
      if (unknown.length > 0) return `unknown codes ${unknown.join(", ")}`
      const responses = document.paths[http.path]?.[http.method.toLowerCase()]?.responses ?? {}
      const missing = errors.filter((code) => {
        const answer = responses[String(httpStatusOf[code])]
        return answer === undefined || !(answer.$ref !== undefined || answer.description?.includes(`\`${code}\``))
      })
      return missing.length > 0 ? `not documented: ${missing.join(", ")}` : undefined
    })
  })

  it("says why where it is not a tool", async () => {
    await eachOperation(async (operation) => {
      if (onMcp(operation)) return undefined
      const reason = operation.mcp && "absent" in operation.mcp ? operation.mcp.absent : ""
      return reason.length > 10 ? undefined : "off MCP without a reason"
    })
  })

  it("is unauthenticated without a key, and with one that is none", async () => {
    await eachOperation(async (operation) => {
      for (const key of [null, "nonsense", `mr_api_${"A".repeat(54)}`]) {
        const answers = [await house.rest(operation, {}, key), ...(onMcp(operation) ? [await house.mcp(operation, {}, key)] : [])]
        const wrong = answers.find(({ status, code }) => status !== 401 || code !== "unauthenticated")
        if (wrong) return `${wrong.status} ${wrong.text.slice(0, 200)}`
      }
      return undefined
    })
  })

  it("is refused to a token without its scope", async () => {
    const token = await house.key({ role: "owner", scopes: ["mcp"] })
    await eachOperation(async (operation) => {
      const answers = [await house.rest(operation, {}, token), ...(onMcp(operation) ? [await house.mcp(operation, {}, token)] : [])]
      const wrong = answers.find(({ code, text }) => code !== "permission_denied" || !text.includes(operation.access.scope))
      if (wrong) return `${wrong.status} ${wrong.text.slice(0, 200)}`
      return answers[0]?.status === 403 ? undefined : `REST answered ${answers[0]?.status}`
    })
  })

  it("is refused over MCP to a token without the scope mcp, whatever else it has", async () => {
    await eachOperation(async (operation) => {
      if (!onMcp(operation)) return undefined
      const { status, code, text } = await house.mcp(operation, {}, await house.key({ role: "owner", scopes: [operation.access.scope] }))
      return status === 403 && code === "permission_denied" && text.includes('"mcp"') ? undefined : `${status} ${text.slice(0, 200)}`
    })
  })

  it("is refused to a lesser role", async () => {
    const keys = new Map(await Promise.all(roles.map(async (role) => [role, await house.key({ role })] as const)))
    let checked = 0
    await eachOperation(async (operation) => {
      const lesser = roles[roles.indexOf(operation.access.role) - 1]
      if (lesser === undefined) return undefined
      checked++
      const key = keys.get(lesser) ?? ""
      const answers = [await house.rest(operation, {}, key), ...(onMcp(operation) ? [await house.mcp(operation, {}, key)] : [])]
      const wrong = answers.find(({ code, text }) => code !== "permission_denied" || !text.includes("role_too_low"))
      return wrong && `${wrong.status} ${wrong.text.slice(0, 200)}`
    })
    expect(checked).to.be.greaterThan(10)
  })

  /** What a call that names another organization's thing is answered, where that differs from what is nowhere. */
  const shownOf = async (operation: AnyOperation, input: Record<string, unknown>, named: readonly string[]) => {
    const answers = [await house.rest(operation, input, house.host.adminKey)]
    if (onMcp(operation)) answers.push(await house.mcp(operation, input, house.host.adminKey))
    const nowhere = {
      ...input,
      ...Object.fromEntries(named.map((name) => [name, String(input[name]).length === 36 ? unknownId : "nowhere"])),
    }
    // What is refused before anything is looked for is refused alike for what is nowhere.
    const alike = answers[0]?.code === "not_found" ? undefined : (await house.rest(operation, nowhere, house.host.adminKey)).text
    const wrong = answers.find(({ code, text }) => code !== "not_found" && text !== alike)
    return wrong && `${JSON.stringify(input)}: ${wrong.status} ${wrong.text.slice(0, 300)}`
  }

  it("finds nothing of another organization, by slug or by id", async () => {
    const unchecked: string[] = []
    await eachOperation(async (operation) => {
      const named = pathParameters(operation.http.path)
      if (named.length === 0) return undefined
      const example = exampleOf(wireSchema(operation.input, "input"), "input", () => undefined) as Record<string, unknown>
      for (const value of [...house.foreign.slugs, ...house.foreign.ids]) {
        const input = { ...example, ...Object.fromEntries(named.map((name) => [name, value])) }
        if (operation.input.safeParse(input).success) {
          const shown = await shownOf(operation, input, named)
          if (shown) return shown
        } else unchecked.push(`${operation.name} ${value}`)
      }
      return undefined
    })
    expect(house.foreign.slugs).to.include.members(["foreign-leads", "foreign-website"])
    expect(house.foreign.ids.length).to.be.greaterThan(4)
    const whole =
      house.operations.filter(({ http }) => http.path.includes("{")).length * (house.foreign.slugs.length + house.foreign.ids.length)
    expect(unchecked.length, unchecked.join("\n")).to.be.lessThan(whole / 2)
  })

  it("does not act in an organization out of the key's reach", async () => {
    await eachOperation(async (operation) => {
      const { status, code } = await house.rest(operation, {}, house.host.adminKey, { "x-organization-id": "other-house" })
      return status === 404 && code === "not_found" ? undefined : `${status} ${code}`
    })
  })
})
