// HTTP conventions shared by all operations: methods, types, ids, quotas, conditional reads, compression, pages, idempotency,
// revisions, field errors, browsers' origins. Tests each operation with the call of its first example. Rules independent of the
// operation run once per shape in the first tier, and for the others in the slow tier.
import type { AnyOperation } from "../../../core/contract/operation.ts"
import { wireSchema } from "../../../core/surface/wire-schema.ts"
import { isDue } from "../../tier.ts"
import { openParityFixture, type ParityFixture, shippedOperations } from "./fixture.ts"
import { giving, members, placed, whenSettled } from "./members.ts"
import { Scene } from "./scene.ts"
import { fromQuery, type Input } from "./surfaces.ts"

// Their credential ends with the first call.
const ending = ["members.leave", "me.delete"]
const operations = (await shippedOperations()).filter(({ name }) => !ending.includes(name))
const page = "https://app.example.test"

const fieldsOf = ({ input }: AnyOperation) => Object.keys((wireSchema(input, "input")["properties"] ?? {}) as object)

/** Properties of an operation that decide its HTTP behaviour. */
function shapeOf(operation: AnyOperation): string {
  const { http, hints, streams, secretOutput } = operation
  const fields = fieldsOf(operation)
  const names = ["limit", "expected_revision"].filter((field) => fields.includes(field))
  const inPath = http.path.includes("{")
  return JSON.stringify([http.method, http.status, hints.readOnly, streams !== undefined, secretOutput !== undefined, inPath, names])
}

const firsts = new Set(new Map([...operations].reverse().map((operation) => [shapeOf(operation), operation])).values())
/** Defines a test, or no test in a tier without a turn. */
const walkWhere = (isOfSample: boolean): ((title: string, test: () => Promise<void>) => unknown) =>
  isDue(isOfSample) ? it : () => undefined
const lists = operations.filter((operation) => ["limit", "cursor"].every((field) => fieldsOf(operation).includes(field)))
const readOf = ({ http }: AnyOperation) =>
  http.method === "PUT" ? operations.find((operation) => operation.http.method === "GET" && operation.http.path === http.path) : undefined

describe("by construction", () => {
  let fixture: ParityFixture
  let count = 0
  before(async () => {
    fixture = await openParityFixture({ MILLRACE_SERVER_CORS_ORIGINS: page })
  })
  after(() => fixture.host.stop())

  /** Creates a new organization with the preparations of the operation's first example. */
  const scene = async (operation: AnyOperation): Promise<Scene> => {
    const [member] = await members(fixture, [`convention-${++count}`], operation)
    if (!member) throw new Error("no member")
    const example = operation.examples?.[0]
    const answers = await giving(fixture, member, example?.given)
    await whenSettled(fixture, [member])
    return new Scene(fixture.host.url, operation, member, placed(example?.input ?? {}, answers) as Input)
  }

  for (const operation of operations) {
    describe(operation.name, () => {
      const { http, hints, streams } = operation
      const reads = http.method === "GET" && !streams
      const fields = fieldsOf(operation)
      const walk = walkWhere(firsts.has(operation))

      walk("says its id, its quotas and how long it may be kept, and answers other methods, types and fields as it should", async () => {
        const on = await scene(operation)
        await on.answersWell()
        await on.refusesOtherMethods()
        if (!fromQuery(operation)) await on.refusesOtherBodies()
        await on.refusesEveryWrongField(fields)
        await on.answersPages(page)
      })
      if (reads) {
        walk("answers HEAD, knows what has not changed, and packs what is large", async () => {
          const on = await scene(operation)
          await on.answersConditionally()
        })
      }
      const list = lists.indexOf(operation)
      if (list !== -1) walkWhere(list % 3 === 0)("pages", async () => (await scene(operation)).pages())
      if (http.method === "POST" && !hints.readOnly) {
        walk("takes an Idempotency-Key, bare or quoted, and does nothing twice", async () => (await scene(operation)).repeats())
      }
      const read = readOf(operation)
      if (read) {
        walkWhere(true)("takes back what is read, by slug and by id, and refuses another value of what cannot change", async () =>
          (await scene(operation)).takesBackWhatIsRead(read),
        )
      }
      if (fields.includes("expected_revision"))
        walkWhere(true)("refuses another revision and changes nothing", async () => (await scene(operation)).refusesOtherRevision())
    })
  }
})
