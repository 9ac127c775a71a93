// Every registered operation for a caller without a key, without the scope or with a lower role, equally over REST, MCP, the
// command and the client.

import { expect } from "chai"
import { roles } from "#core/engine"
import type { AnyOperation } from "../../../core/contract/operation.ts"
import { httpStatusOf } from "../../../core/kernel/errors.ts"
import { sampleOf } from "../../tier.ts"
import { openParityFixture, type ParityFixture } from "./fixture.ts"
import { keyOf, liftGates, type Member, members } from "./members.ts"
import { type Caller, type Input, type Outcome, offered, type SurfaceName, surfaces, surfacesToTry, surfaceToTry } from "./surfaces.ts"
import { sayable } from "./wording.ts"

const exitCodes: Record<string, number> = { unauthenticated: 3, permission_denied: 3, not_found: 4 }

describe("every operation", () => {
  let bench: ParityFixture & Readonly<Record<"home" | "foreign", Member>>
  let tried = 0
  let document: { paths: Record<string, Record<string, { responses: Record<string, { description?: string; $ref?: string }> }>> }
  before(async () => {
    const fixture = await openParityFixture()
    const [home, foreign] = (await members(fixture, ["home-house", "foreign-house"])) as [Member, Member]
    await liftGates(fixture, home, foreign)
    bench = { ...fixture, home, foreign }
    document = (await bench.host.api<typeof document>("GET", "/openapi.json")).body
    expect([...bench.operations.keys()]).to.include("datasets.create")
  })
  after(() => bench.host.stop())

  const eachOperation = async (
    check: (operation: AnyOperation) => Promise<string | undefined> | string | undefined,
    operations: Iterable<AnyOperation> = bench.operations.values(),
  ) => {
    const problems: string[] = []
    for (const operation of operations) {
      const problem = await check(operation)
      if (problem !== undefined) problems.push(`${operation.name}: ${problem}`)
    }
    expect(problems).to.deep.equal([])
  }
  /** For checks with many preparations per operation, or with a refusal before the operation is considered. */
  const eachOfSample = (check: (operation: AnyOperation) => Promise<string | undefined>) =>
    eachOperation(check, sampleOf([...bench.operations.values()]))
  /** Returns the first unexpected outcome of any surface. */
  const unlike = async (
    operation: AnyOperation,
    caller: Omit<Caller, "url">,
    right: (outcome: Outcome, surface: SurfaceName) => boolean,
    input: Input = {},
    over = surfacesToTry,
  ): Promise<string | undefined> => {
    const phrased = sayable(operation, input)
    for (const surface of over(operation, tried++)) {
      const outcome = await surfaces[surface](operation, phrased, { url: bench.host.url, ...caller })
      if (!right(outcome, surface)) return `over ${surface}: ${outcome.status} ${outcome.text.slice(0, 300)}`
    }
    return undefined
  }
  const refusedAs =
    (code: keyof typeof httpStatusOf, saying = "") =>
    (outcome: Outcome, surface: SurfaceName) =>
      outcome.code === code &&
      outcome.text.includes(saying) &&
      (surface === "cli"
        ? outcome.exitCode === exitCodes[code]
        : outcome.status === httpStatusOf[code] || (surface === "mcp" && outcome.status === 200))

  it("declares errors of the closed set, each with a place in the OpenAPI document", async () => {
    await eachOperation(({ errors, http }) => {
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
    await eachOperation((operation) => {
      if (offered(operation, "mcp")) return undefined
      const reason = operation.mcp && "absent" in operation.mcp ? operation.mcp.absent : ""
      return reason.length > 10 ? undefined : "off MCP without a reason"
    })
  })

  it("is unauthenticated without a key, and with an invalid one", async () => {
    await eachOperation((operation) => unlike(operation, { key: null }, refusedAs("unauthenticated")))
    // No surface can tell kinds of wrong keys apart.
    for (const key of ["nonsense", `mr_api_${"A".repeat(54)}`])
      await eachOfSample((operation) => unlike(operation, { key }, refusedAs("unauthenticated"), {}, surfaceToTry))
  })

  it("is refused to a token without its scope", async () => {
    const key = await keyOf(bench, bench.home, "owner", ["mcp"])
    await eachOperation((operation) => {
      // Each token has this scope.
      if (operation.access.scope === "me:read") return undefined
      return unlike(operation, { key }, refusedAs("permission_denied", operation.access.scope))
    })
  })

  it("is refused over MCP to a token without the scope mcp, with any others", async () => {
    const keys = new Map<string, string>()
    await eachOperation(async (operation) => {
      if (!offered(operation, "mcp")) return undefined
      const { scope } = operation.access
      const key = keys.get(scope) ?? (await keyOf(bench, bench.home, "owner", [scope]))
      keys.set(scope, key)
      const { status, code, text } = await surfaces.mcp(operation, {}, { url: bench.host.url, key })
      return status === 403 && code === "permission_denied" && text.includes('"mcp"') ? undefined : `${status} ${text.slice(0, 200)}`
    })
  })

  it("is refused to a lesser role", async () => {
    const keys = new Map(await Promise.all(roles.map(async (role) => [role, await keyOf(bench, bench.home, role)] as const)))
    let checked = 0
    await eachOperation((operation) => {
      const lesser = roles[roles.indexOf(operation.access.role) - 1]
      if (lesser === undefined) return undefined
      checked++
      const saying = operation.streams ? "" : "role_too_low"
      return unlike(operation, { key: keys.get(lesser) ?? "" }, (outcome, surface) =>
        refusedAs("permission_denied", surface === "cli" ? "" : saying)(outcome, surface),
      )
    })
    expect(checked).to.be.greaterThan(10)
  })

  it("does not act in an organization out of the key's reach", async () => {
    const { key } = bench.home
    const { slug, id } = bench.foreign.organization
    await eachOperation((operation) => unlike(operation, { key, organization: slug }, refusedAs("not_found")))
    await eachOfSample((operation) => unlike(operation, { key, organization: id }, refusedAs("not_found"), {}, surfaceToTry))
  })
})
