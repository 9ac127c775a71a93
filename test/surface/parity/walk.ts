// Walks one operation over every surface: draws inputs once, sends them in one equal organization per surface, and compares the
// answers.
import fc from "fast-check"
import { exitCodeOf } from "../../../core/cli/operations/problem.ts"
import { type AnyOperation, type OperationExample, resultPath } from "../../../core/contract/operation.ts"
import { type ErrorCode, httpStatusOf } from "../../../core/kernel/errors.ts"
import { wireSchema } from "../../../core/surface/wire-schema.ts"
import { drawnRuns, isFast, seed } from "../../tier.ts"
import type { ParityFixture } from "./fixture.ts"
import { brokenInputs, drawnInputs, nearInputs } from "./inputs.ts"
import { placed, whenSettled } from "./members.ts"
import { type Party, partiesAlike } from "./parties.ts"
import { type Input, type Outcome, offered, type SurfaceName, surfaceNames, surfaces } from "./surfaces.ts"
import { sayable } from "./wording.ts"

const kinds = ["example", "near", "drawn", "near", "broken"] as const
type Kind = (typeof kinds)[number]

export interface Walk {
  readonly succeeded: number
  readonly tried: number
  readonly problem: string | undefined
}

export async function walked(fixture: ParityFixture, operation: AnyOperation, over: readonly SurfaceName[] = surfaceNames): Promise<Walk> {
  const examples: readonly OperationExample<Input>[] = operation.examples ?? [{ input: {} }]
  const drawers = examples.map((example, index) => drawerOf(operation, example, seed + index))
  const partiesByOperation = new Map<number, readonly Party[]>()
  // In the first tier, organizations with many preparations run only the examples.
  const isLaden = examples.some(({ given: input }) => input !== undefined)
  const runs = isFast && isLaden ? examples.length : drawnRuns
  let succeeded = 0
  let run = 0
  for (; run < runs; run++) {
    const index = run % examples.length
    const kind = kindOf(run, succeeded, examples.length)
    const input = drawers[index]?.(kind, run) ?? {}
    const alike = partiesByOperation.get(index) ?? (await partiesAlike(fixture, operation, examples[index], over))
    partiesByOperation.set(index, alike)
    const answer = await callAll(fixture, operation, alike, input)
    const where = `${kind} input ${JSON.stringify(input).slice(0, 600)} (seed ${seed}, run ${run})`
    if ("problem" in answer) return { succeeded, tried: run + 1, problem: `${answer.problem}\n  ${where}` }
    if (answer.code === undefined) succeeded++
    else if (kind === "example" && operation.examples) {
      return { succeeded, tried: run + 1, problem: `Its own example fails: ${answer.text}\n  ${where}` }
    }
    // Changed organizations are recreated for the next input.
    if (answer.code === undefined && !operation.hints.readOnly) partiesByOperation.delete(index)
  }
  return { succeeded, tried: run, problem: undefined }
}

/** Runs each example once. Then moves as far from it as possible while half of the inputs still succeed. */
function kindOf(run: number, succeeded: number, examples: number): Kind {
  if (run < examples) return "example"
  const share = succeeded / run
  if (share < 0.55) return "example"
  return share < 0.7 ? "near" : (kinds[run % kinds.length] ?? "near")
}

/** Draws inputs around an example. References to prepared data mostly stay. */
function drawerOf(operation: AnyOperation, { input }: OperationExample<Input>, from: number): (kind: Kind, run: number) => Input {
  const schema = wireSchema(operation.input, "input")
  const refers = new Map(Object.entries(input).filter(([, value]) => holdsReference(value)))
  const near = () => nearInputs(schema, input, (field) => refers.has(field))
  const drawn = () =>
    fc
      .tuple(drawnInputs(schema, { slugs: [], ids: [] }), fc.integer({ min: 0, max: 3 }))
      .map(([item, luck]) => (luck === 0 ? item : { ...item, ...Object.fromEntries(refers) }))
  const arbitraries = { near, drawn, broken: () => brokenInputs(near(), schema) }
  // Created on demand: many operations use only their example, and creating an arbitrary takes time.
  const pools: { [K in keyof typeof arbitraries]?: readonly Input[] } = {}
  const poolOf = (kind: keyof typeof arbitraries) =>
    (pools[kind] ??= fc.sample<Input>(arbitraries[kind](), { numRuns: drawnRuns, seed: from }))
  return (kind, run) => (kind === "example" ? input : (poolOf(kind)[run] ?? input))
}

function holdsReference(value: unknown): boolean {
  if (resultPath(value) !== undefined) return true
  return typeof value === "object" && value !== null && Object.values(value).some(holdsReference)
}

/** Returns the outcome over REST if all other surfaces have the same outcome. */
async function callAll(
  fixture: ParityFixture,
  operation: AnyOperation,
  alike: readonly Party[],
  input: Input,
): Promise<Outcome | { problem: string }> {
  await whenSettled(fixture, alike)
  const cleared = operation.mcp && "clears" in operation.mcp ? operation.mcp.clears : []
  // With an operator field, the command acts as the operator.
  const clears = new Set([...(cleared ?? []), ...(operation.access.operator?.fields ?? [])])
  const common = Object.fromEntries(Object.entries(input).filter(([name]) => !clears.has(name)))
  const there = alike.filter(({ surface }) => offered(operation, surface))
  const outcomes = await Promise.all(
    there.map(({ surface, key, given: answers, sameness }) => {
      const request = sayable(operation, ofItsOwn(operation, placed(common, answers) as Input, { surface, sameness }))
      return surfaces[surface](operation, request, { url: fixture.host.url, key })
    }),
  )
  const [restOutcome] = outcomes
  if (!restOutcome) return { problem: "not offered over REST" }
  const fault = faultOf(operation, restOutcome)
  if (fault) return { problem: fault }
  for (const [index, party] of there.entries()) {
    const outcome = outcomes[index] ?? restOutcome
    const difference = differenceOf(operation, party, restOutcome, outcome)
    const texts = `  REST: ${restOutcome.text.slice(0, 400)}\n  ${party.surface}: ${outcome.text.slice(0, 400)}`
    if (difference) return { problem: `REST and ${party.surface} differ: ${difference}\n${texts}` }
  }
  return restOutcome
}

/** An organization's slug is unique in the service, so each surface sends another slug. */
function ofItsOwn(operation: AnyOperation, input: Input, { surface, sameness }: Pick<Party, "surface" | "sameness">): Input {
  const { slug } = input
  if (!givesOrganizationSlug.has(operation.name) || typeof slug !== "string") return input
  sameness.name(`${slug}-rest`, `${slug}-${surface}`)
  return { ...input, slug: `${slug}-${surface}` }
}

const givesOrganizationSlug = new Set(["organizations.create", "organization.update"])

function faultOf(operation: AnyOperation, { code, status, text }: Outcome): string | undefined {
  if (code === undefined) return status === (operation.http.status ?? 200) ? undefined : `answered ${status}`
  const declared: string[] = ["invalid_argument", "permission_denied", "resource_exhausted", ...operation.errors]
  if (!declared.includes(code)) return `answered an error that it does not declare: ${text.slice(0, 400)}`
  return status === httpStatusOf[code as ErrorCode] ? undefined : `answered ${code} with ${status}`
}

function differenceOf(operation: AnyOperation, { surface, sameness }: Party, restOutcome: Outcome, other: Outcome): string | undefined {
  if (surface === "mcp" && isForPersons(other)) return undefined
  if (restOutcome.code !== other.code) return `${restOutcome.code ?? "success"} and ${other.code ?? "success"}`
  const exitCode = other.code === undefined ? 0 : exitCodeOf[other.code as ErrorCode]
  if (surface === "cli" && other.exitCode !== exitCode) return `exit code ${other.exitCode} in place of ${exitCode}`
  // A stream's command prints errors as text for people.
  if (surface === "cli" && operation.streams && other.code !== undefined) return undefined
  return sameness.difference(restOutcome.body, surface === "mcp" ? actedAlike(restOutcome.body, asPerson(other.body)) : other.body)
}

/** REST calls as a person, MCP as an agent. */
function isForPersons({ body }: Outcome): boolean {
  const { details } = body as { details?: { reason?: string } }
  return details?.reason === "for_persons"
}

/** An agent is recorded as an agent. */
function asPerson(body: unknown): unknown {
  const text = JSON.stringify(body) ?? "null"
  const decided = text.replaceAll('"decider_kind":"agent"', '"decider_kind":"person"')
  return JSON.parse(decided.replaceAll('"judge_slug":"agent:', '"judge_slug":"human:'))
}

/** Over REST the key's user acts. Over MCP the key acts as an agent. */
function actedAlike(one: unknown, second: unknown): unknown {
  if (typeof one !== "object" || typeof second !== "object" || one === null || second === null) return second
  if (Array.isArray(second)) return second.map((item, index) => actedAlike((one as readonly unknown[])[index], item))
  const [person, agent] = [one as Input, second as Input]
  const fields = Object.entries(agent).map(([name, value]) => [name, actedAlike(person[name], value)] as const)
  const isAgent = person["actor_type"] === "user" && agent["actor_type"] === "agent" && agent["actor_id"] !== person["actor_id"]
  return { ...Object.fromEntries(fields), ...(isAgent ? { actor_type: "user", actor_id: person["actor_id"] } : {}) }
}
