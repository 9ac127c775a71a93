// Every registered operation, as a stranger, a token without its scope, a role too low and a neighbour meets it, over
// REST, MCP, the command and the client alike.

import { randomUUID } from "node:crypto"
import { expect } from "chai"
import { roles } from "#core/engine"
import { fulfilled, type OperationExample } from "../../../core/contract/example.ts"
import type { AnyOperation } from "../../../core/contract/operation.ts"
import { httpStatusOf } from "../../../core/kernel/errors.ts"
import { pathParameters } from "../../../core/surface/call/audit.ts"
import { wireSchema } from "../../../core/surface/wire-schema.ts"
import { isFast, sampleOf, thirdOf } from "../../tier.ts"
import { ofPersons } from "./account.ts"
import { openParityFixture, type ParityFixture } from "./fixture.ts"
import { type Answers, giving, keyOf, liftGates, type Member, members, placed } from "./members.ts"
import { type Caller, type Input, type Outcome, offered, type SurfaceName, surfaces, surfacesToTry, surfaceToTry } from "./surfaces.ts"
import { sayable } from "./wording.ts"

const unknownId = "0199f3a2-7c1e-7d40-9b3a-5e2f6c8d1a04"
/** Staff act on every organization, a new organization has a name of its own, and a person switches between the own ones. */
const ofAnyOrganization = new Set(["organizations.create", "organizations.suspend", "organizations.resume", "me.switch_organization"])
const exitCodes: Record<string, number> = { unauthenticated: 3, permission_denied: 3, not_found: 4 }

describe("every operation", () => {
  let bench: ParityFixture & Readonly<Record<"home" | "foreign" | "stranger", Member>>
  let tried = 0
  let document: { paths: Record<string, Record<string, { responses: Record<string, { description?: string; $ref?: string }> }>> }
  before(async () => {
    const fixture = await openParityFixture()
    const [home, foreign, stranger] = (await members(fixture, ["home-house", "foreign-house", "stranger"])) as [Member, Member, Member]
    await liftGates(fixture, home, foreign, stranger)
    bench = { ...fixture, home, foreign, stranger }
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
  /** Where much must be made first for each of them, or what is tried is refused before an operation is looked at. */
  const eachOfSample = (check: (operation: AnyOperation) => Promise<string | undefined>) =>
    eachOperation(check, sampleOf([...bench.operations.values()]))
  /** The first outcome, of any surface, that is not as it should be. */
  const unlike = async (
    operation: AnyOperation,
    caller: Omit<Caller, "url">,
    right: (outcome: Outcome, surface: SurfaceName) => boolean,
    input: Input = {},
    over = surfacesToTry,
  ): Promise<string | undefined> => {
    const said = sayable(operation, input)
    for (const surface of over(operation, tried++)) {
      const outcome = await surfaces[surface](operation, said, { url: bench.host.url, ...caller })
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
    // How wrong a key is, no surface can tell.
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

  it("finds nothing of another organization, by slug or by id", async () => {
    let checked = 0
    // Nothing of these is changed: what several examples begin with alike is made once.
    const made = new Map<string, Answers>()
    const givenOf = async (given: OperationExample["given"]): Promise<Answers> => {
      const answers = made.get(JSON.stringify(given)) ?? (await giving(bench, await memberOf(bench, `neighbour-${made.size}`), given))
      made.set(JSON.stringify(given), answers)
      return answers
    }
    await eachOfSample(async (operation) => {
      if (ofAnyOrganization.has(operation.name) || ofPersons.test(operation.name)) return undefined
      for (const { given, input } of operation.examples ?? []) {
        if (JSON.stringify(input) === JSON.stringify(fulfilled(input, () => null))) continue
        checked++
        const foreign = placed(input, await givenOf(given)) as Input
        const nowhere = Object.fromEntries(
          Object.entries(fulfilled(input, () => undefined) as Input).map(([name, value]) => [
            name,
            value ?? (isId(foreign[name]) ? unknownId : "nowhere"),
          ]),
        )
        const alike = await surfaces.rest(operation, sayable(operation, nowhere), { url: bench.host.url, key: bench.stranger.key })
        const problem = await unlike(
          operation,
          { key: bench.stranger.key },
          // What is refused before anything is looked for is refused alike for what is nowhere.
          ({ code, text }) => code === "not_found" || (code !== undefined && text === alike.text),
          foreign,
        )
        if (problem) return `${JSON.stringify(foreign)} ${problem}`
      }
      return undefined
    })
    expect(checked).to.be.greaterThan(isFast ? 10 : 20)
  })

  it("takes an id of another organization, in whichever field, for an id of nothing", async () => {
    const theirs = await idsOf(bench, bench.foreign)
    expect(theirs.length).to.be.greaterThan(15)
    let asked = 0
    let fieldsSeen = 0
    await eachOfSample(async (operation) => {
      const [example] = operation.examples ?? []
      const fields = referringFields(operation)
      if (!example || fields.length === 0) return undefined
      const member = await memberOf(bench, `refers-${operation.name.replaceAll(/[._]/g, "-")}`)
      const input = placed(example.input, await giving(bench, member, example.given)) as Input
      for (const { name, isList } of fields) {
        const ask = async (id: string) => {
          asked++
          const said = sayable(operation, { ...input, [name]: isList ? [id] : id })
          return withoutOwn(await surfaces.rest(operation, said, { url: bench.host.url, key: member.key }))
        }
        // What can be done once is refused when it is done again.
        const absent = new Set([await ask(unknownId), await ask(unknownId), await ask(randomUUID())])
        for (const id of some(theirs, fieldsSeen++)) {
          const answer = await ask(id)
          if (!absent.has(answer)) return `${name}: ${answer} in place of ${[...absent].join(" or ")}`
        }
      }
      return undefined
    })
    expect(asked).to.be.greaterThan(isFast ? 30 : 100)
  })

  it("does not act in an organization out of the key's reach", async () => {
    const { key } = bench.home
    const { slug, id } = bench.foreign.organization
    await eachOperation((operation) => unlike(operation, { key, organization: slug }, refusedAs("not_found")))
    await eachOfSample((operation) => unlike(operation, { key, organization: id }, refusedAs("not_found"), {}, surfaceToTry))
  })
})

/** Fields beside those of the path that name something kept, as far as their own names tell. */
function referringFields({ input, http }: AnyOperation): { name: string; isList: boolean }[] {
  const inPath = pathParameters(http.path)
  const properties = (wireSchema(input, "input")["properties"] ?? {}) as Record<string, { type?: unknown }>
  return Object.entries(properties)
    .filter(([name]) => /_(?:id|slug|key)s?$/.test(name) && !inPath.includes(name))
    .map(([name, { type }]) => ({ name, isList: type === "array" }))
}

async function memberOf(fixture: ParityFixture, slug: string): Promise<Member> {
  const [member] = await members(fixture, [slug])
  if (!member) throw new Error("no member")
  return member
}

/** The first id in each answer that examples begin with, made for the member. */
async function idsOf(bench: ParityFixture, member: Member): Promise<string[]> {
  const known = { answers: new Map<string, unknown>(), again: false }
  // What one example cannot have, because another was made before it, is left out.
  const all = [...bench.operations.values()]
  for (const { examples = [] } of isFast ? thirdOf(all) : all) await giving(bench, member, examples[0]?.given, known).catch(() => undefined)
  const first = [...known.answers.values()].map((answer) => /(?<="id":")[0-9a-f-]{36}/.exec(JSON.stringify(answer))?.[0])
  return [...new Set(first)].filter((id) => id !== undefined)
}

/** In the first tier a part of them, another for each number. */
function some<T>(all: readonly T[], number: number): readonly T[] {
  return isFast ? all.filter((_, index) => index % 4 === number % 4) : all
}

/** Of a refusal the words count, but for what each has of its own. */
function withoutOwn({ status, code, text }: Outcome): string {
  return code === undefined ? String(status) : text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID").replaceAll(/\d+/g, "N")
}

function isId(value: unknown): boolean {
  return typeof value === "string" && value.length === 36
}
