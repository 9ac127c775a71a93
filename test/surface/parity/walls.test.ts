// Every operation, called by another organization: with its slugs and ids, with its ids in other fields, and for lists.
import { randomUUID } from "node:crypto"
import { expect } from "chai"
import { type AnyOperation, fulfilled, type OperationExample } from "../../../core/contract/operation.ts"
import { pathParameters } from "../../../core/surface/call/audit.ts"
import { wireSchema } from "../../../core/surface/wire-schema.ts"
import { isFast, sampleOf, thirdOf } from "../../tier.ts"
import { ofPersons } from "./account.ts"
import { openParityFixture, type ParityFixture, shippedOperations } from "./fixture.ts"
import { type Answers, exampleOf, giving, liftGates, type Member, members, placed } from "./members.ts"
import { type Input, type Outcome, surfaces, surfacesToTry } from "./surfaces.ts"
import { sayable } from "./wording.ts"

const unknownId = "0199f3a2-7c1e-7d40-9b3a-5e2f6c8d1a04"
/** Staff act on every organization. A new organization has its own slug. A person switches between organizations. */
const ofAnyOrganization = new Set(["organizations.create", "organizations.suspend", "organizations.resume", "me.switch_organization"])
const operations = await shippedOperations()
const isReference = (input: unknown) => JSON.stringify(input) !== JSON.stringify(fulfilled(input, () => null))
const naming = operations.filter(
  ({ name, examples = [] }) => !ofAnyOrganization.has(name) && !ofPersons.test(name) && examples.some(({ input }) => isReference(input)),
)
const referring = operations.filter((operation) => operation.examples?.[0] && referringFields(operation).length > 0)
const listing = operations.filter(
  ({ name, hints, input, streams, examples = [] }) =>
    hints.readOnly &&
    !streams &&
    !ofPersons.test(name) &&
    !examples.some((example) => isReference(example.input)) &&
    input.safeParse({}).success,
)

describe("another organization", () => {
  let fixture: ParityFixture
  let stranger: Member
  let tried = 0
  let count = 0
  before(async () => {
    fixture = await openParityFixture()
    stranger = await another("stranger")
  })
  after(() => fixture.host.stop())

  const another = async (slug: string): Promise<Member> => {
    const [member] = await members(fixture, [slug])
    if (!member) throw new Error("no member")
    await liftGates(fixture, member)
    return member
  }
  // Examples with the same preparations share one organization. No call of these tests changes it.
  const answersByOperation = new Map<string, Answers>()
  const givenOf = async (examples: OperationExample["given"]): Promise<Answers> => {
    const answers =
      answersByOperation.get(JSON.stringify(examples)) ?? (await giving(fixture, await another(`neighbour-${count++}`), examples))
    answersByOperation.set(JSON.stringify(examples), answers)
    return answers
  }

  for (const operation of sampleOf(naming)) {
    it(`gets not_found for a slug or an id: ${operation.name}`, async () => {
      for (const { given: options, input } of operation.examples ?? []) {
        if (!isReference(input)) continue
        const foreign = placed(input, await givenOf(options)) as Input
        const nowhere = Object.fromEntries(
          Object.entries(fulfilled(input, () => undefined) as Input).map(([name, value]) => [
            name,
            value ?? (isId(foreign[name]) ? unknownId : "nowhere"),
          ]),
        )
        const caller = { url: fixture.host.url, key: stranger.key }
        const alike = await surfaces.rest(operation, sayable(operation, nowhere), caller)
        for (const surface of surfacesToTry(operation, tried++)) {
          const { code, text } = await surfaces[surface](operation, sayable(operation, foreign), caller)
          // An unknown name gets the same answer if the call is refused before the search.
          const isRight = code === "not_found" || (code !== undefined && text === alike.text)
          expect(isRight, `${JSON.stringify(foreign)} over ${surface}: ${text.slice(0, 300)}`).to.equal(true)
        }
      }
    })
  }

  let theirs: Promise<string[]> | undefined
  let fieldsSeen = 0
  for (const operation of sampleOf(referring)) {
    it(`gets the same answer for an id of nothing, in whichever field: ${operation.name}`, async () => {
      theirs ??= another("foreign-house").then((foreign) => idsOf(fixture, foreign))
      const ids = await theirs
      expect(ids.length).to.be.greaterThan(15)
      const example = operation.examples?.[0]
      const member = await another(`refers-${operation.name.replaceAll(/[._]/g, "-")}`)
      const input = placed(example?.input, await giving(fixture, member, example?.given)) as Input
      for (const { name, isList } of referringFields(operation)) {
        const ask = async (id: string) => {
          const request = sayable(operation, { ...input, [name]: isList ? [id] : id })
          return withoutOwn(await surfaces.rest(operation, request, { url: fixture.host.url, key: member.key }))
        }
        // A repeated call may be refused.
        const absent = new Set([await ask(unknownId), await ask(unknownId), await ask(randomUUID())])
        for (const id of some(ids, fieldsSeen++)) expect([...absent], `${name} ${id}`).to.include(await ask(id))
      }
    })
  }

  /** Returns the items of every list in the answer. */
  const itemsOf = async (operation: AnyOperation, key: string): Promise<Set<string>> => {
    const { body } = await surfaces.rest(operation, {}, { url: fixture.host.url, key })
    const lists = Object.values(body as object).filter((value) => Array.isArray(value))
    return new Set(lists.flat().map((item) => JSON.stringify(item)))
  }
  // Some lists have items of the service itself.
  let ofService: Promise<ReadonlyMap<string, Set<string>>> | undefined
  const baseline = async () =>
    new Map(await Promise.all(listing.map(async (operation) => [operation.name, await itemsOf(operation, stranger.key)] as const)))
  const furnished = new Map<string, Promise<Member>>()
  for (const operation of sampleOf(listing)) {
    it(`gets nothing in a list: ${operation.name}`, async () => {
      ofService ??= baseline()
      const ids = (await ofService).get(operation.name)
      const area = operation.name.replace(/\..*/, "")
      const owner = furnished.get(area) ?? furnish(area)
      furnished.set(area, owner)
      const { key } = await owner
      const [own, others] = [await itemsOf(operation, key), await itemsOf(operation, stranger.key)]
      expect([...own].filter((item) => others.has(item) && !ids?.has(item))).to.deep.equal([])
    })
  }

  /** Creates an organization with all documents of the area's examples. */
  async function furnish(area: string): Promise<Member> {
    const member = await another(`lists-${area.replaceAll("_", "-")}`)
    const cache = { answers: new Map<string, unknown>(), again: false }
    for (const operation of operations.filter(({ name }) => name.startsWith(`${area}.`))) {
      await giving(fixture, member, operation.examples?.[0]?.given, cache).catch(() => undefined)
      if (!operation.hints.readOnly && !operation.hints.destructive)
        await exampleOf(fixture, member, operation, cache).catch(() => undefined)
    }
    return member
  }
})

/** Returns fields outside of the path whose names refer to a stored document. */
function referringFields({ input, http }: AnyOperation): { name: string; isList: boolean }[] {
  const inPath = pathParameters(http.path)
  const properties = (wireSchema(input, "input")["properties"] ?? {}) as Record<string, { type?: unknown }>
  return Object.entries(properties)
    .filter(([name]) => /_(?:id|slug|key)s?$/.test(name) && !inPath.includes(name))
    .map(([name, { type }]) => ({ name, isList: type === "array" }))
}

/** Returns the first id in each answer of the examples' preparations, created for the member. */
async function idsOf(fixture: ParityFixture, member: Member): Promise<string[]> {
  const cache = { answers: new Map<string, unknown>(), again: false }
  // An example can conflict with an earlier example. Its answer is then missing.
  for (const { examples = [] } of isFast ? thirdOf(operations) : operations)
    await giving(fixture, member, examples[0]?.given, cache).catch(() => undefined)
  const first = [...cache.answers.values()].map((answer) => /(?<="id":")[0-9a-f-]{36}/.exec(JSON.stringify(answer))?.[0])
  return [...new Set(first)].filter((id) => id !== undefined)
}

/** Returns a rotating part in the first tier, otherwise all. */
function some<T>(all: readonly T[], number: number): readonly T[] {
  return isFast ? all.filter((_, index) => index % 4 === number % 4) : all
}

/** Returns the text of a refusal without ids and numbers. */
function withoutOwn({ status, code, text }: Outcome): string {
  return code === undefined ? String(status) : text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID").replaceAll(/\d+/g, "N")
}

function isId(value: unknown): boolean {
  return typeof value === "string" && value.length === 36
}
