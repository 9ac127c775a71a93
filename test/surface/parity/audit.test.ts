// Every changing operation leaves one audit record: caller, surface, input, and each document before and after, without secrets.
// Reads leave no record.
import { expect } from "chai"
import type { AnyOperation } from "../../../core/contract/operation.ts"
import { isSecretName } from "../../../core/kernel/secret-names.ts"
import { sampleOf } from "../../tier.ts"
import { openParityFixture, type ParityFixture, shippedOperations } from "./fixture.ts"
import { giving, keyOf, liftGates, type Member, members, placed, whenSettled } from "./members.ts"
import { type Input, type SurfaceName, surfaces, surfacesToAudit } from "./surfaces.ts"
import { sayable } from "./wording.ts"

const operations = await shippedOperations()

interface Entry {
  readonly actor: { readonly credential_id: string; readonly user_id: string | null; readonly surface: string }
  readonly operation: string
  readonly target: Record<string, unknown>
  readonly changes: Record<string, unknown>
  readonly writes: readonly { collection: string; id: string; before: unknown; after: unknown }[]
}

describe("the audit record of every change", () => {
  let fixture: ParityFixture
  let count = 0
  let tried = 0
  before(async () => {
    fixture = await openParityFixture({ MILLRACE_LOG_LEVEL: "debug" })
  })
  after(() => fixture.host.stop())

  /** Reads with a service key, since it outlives the member. */
  const entriesOf = async (member: Member, operation: AnyOperation): Promise<Entry[]> => {
    const key = await keyOf(fixture, member, "owner")
    const path = `/v1/audit-log?limit=200&operation=${operation.name}`
    return (await fixture.host.api<{ audit_log: Entry[] }>("GET", path, undefined, { key })).body.audit_log
  }
  /** Calls the operation with its first example in a new organization. */
  const called = async (operation: AnyOperation, surface: SurfaceName) => {
    const [member] = await members(fixture, [`audited-${++count}`], operation)
    if (!member) throw new Error("no member")
    await liftGates(fixture, member)
    const example = operation.examples?.[0]
    const input = placed(example?.input ?? {}, await giving(fixture, member, example?.given)) as Input
    await whenSettled(fixture, [member])
    const before = (await entriesOf(member, operation)).length
    const outcome = await surfaces[surface](operation, sayable(operation, input), { url: fixture.host.url, key: member.key })
    expect(outcome.code, outcome.text).to.equal(undefined)
    const entries = await entriesOf(member, operation)
    return { member, input, outcome, entries: entries.slice(0, entries.length - before) }
  }

  for (const operation of sampleOf(operations.filter(({ hints }) => !hints.readOnly))) {
    it(operation.name, async () => {
      for (const surface of surfacesToAudit(operation, tried++)) {
        const { input, outcome, entries } = await called(operation, surface)
        expect(entries, surface).to.have.length(1)
        for (const entry of entries) tells(entry, operation, surface, input)
        const secrets = (operation.secretOutput ?? []).map((name) => String((outcome.body as Input)[name] ?? ""))
        hides(fixture, JSON.stringify(entries), [...secretsIn(input), ...secrets.filter(Boolean)])
      }
    })
  }

  it("is not there for what only reads", async () => {
    const remaining: string[] = []
    for (const operation of sampleOf(
      operations.filter(({ hints }) => hints.readOnly),
      9,
    )) {
      const { entries } = await called(operation, "rest")
      if (entries.length > 0) remaining.push(operation.name)
    }
    expect(remaining).to.deep.equal([])
  })
})

/** Checks caller, surface, input, and values before and after. */
function tells(entry: Entry, operation: AnyOperation, surface: SurfaceName, input: Input): void {
  expect(entry.actor.surface).to.equal(surface === "mcp" ? "mcp" : "rest")
  expect(entry.actor.user_id).to.match(/^[0-9a-f-]{36}$/)
  const inPath = [...operation.http.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => [name, input[name]])
  expect(entry.target).to.deep.equal(Object.fromEntries(inPath))
  expect(Object.keys({ ...entry.target, ...entry.changes })).to.include.members(Object.keys(input))
  for (const { before, after, collection } of entry.writes) {
    expect(before !== null || after !== null, collection).to.equal(true)
    if (before !== null && after !== null) expect(Object.keys(after as object), collection).to.have.length.greaterThan(0)
  }
}

function hides({ host }: ParityFixture, text: string, secrets: readonly string[]): void {
  for (const secret of secrets) {
    expect(text, "a secret in the audit log").to.not.include(secret)
    expect(
      host.logged.some((line) => line.includes(secret)),
      "a secret in the log",
    ).to.equal(false)
  }
}

/** Returns values under names of secrets. */
function secretsIn(value: unknown, within = false): string[] {
  if (typeof value === "string") return within ? [value] : []
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => secretsIn(inner, within || isSecretName(name)))
}
