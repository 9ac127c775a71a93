// Calls whose commit loses against a faster one. The call is repeated if the service itself may have changed the document.
import { expect } from "chai"
import type { AnyOperation } from "../../../core/contract/operation.ts"
import { Store, type Write } from "../../../core/contract/store.ts"
import { rivalOf } from "../../rival-commits.ts"
import { sampleOf } from "../../tier.ts"
import { openParityFixture, type ParityFixture, shippedOperations } from "./fixture.ts"
import { giving, liftGates, members, placed, whenSettled } from "./members.ts"
import { type Input, surfaces } from "./surfaces.ts"

const operations = await shippedOperations()

/** Changes of documents that only people change: the caller reads the newer version first. */
const refused: ReadonlySet<string> = new Set([
  "agents.rotate_secret",
  "agents.update",
  "datasets.update",
  "evals.update_case",
  "evals.update_suite",
  "event_pipelines.end_secret",
  "event_pipelines.rotate_secret",
  "event_pipelines.update",
  "heartbeats.pause",
  "heartbeats.update",
  "integrations.test",
  "personas.update",
  "phone_numbers.update",
  "versions.restore",
  "workstream_templates.update",
])
/** The first needs a revision. The second also waits for commits of the page analytics. */
const leftOut: ReadonlySet<string> = new Set(["workstreams.set_external_refs", "experiments.decide"])

describe("a call that meets a faster commit", () => {
  let fixture: ParityFixture
  let count = 0
  before(async () => {
    fixture = await openParityFixture()
  })
  after(() => fixture.host.stop())

  /** Calls the operation with its first example in a new organization, after a rival commit. */
  const called = async (operation: AnyOperation) => {
    const [member] = await members(fixture, [`second-${++count}`], operation)
    if (!member) throw new Error("no member")
    await liftGates(fixture, member)
    const example = operation.examples?.[0]
    const { expected_revision: _, ...input } = placed(example?.input ?? {}, await giving(fixture, member, example?.given)) as Input
    await whenSettled(fixture, [member])
    const only = (write: Write) => write.kind === "update" && write.organization === member.organization.id
    const rival = rivalOf(fixture.host, undefined, 1, { only })
    const committing = commitsOf(fixture.host)
    const outcome = await surfaces.rest(operation, input, { url: fixture.host.url, key: member.key })
    committing.stop()
    rival.stop()
    const unguarded = committing.writes.filter((write) => write.organization === member.organization.id && overwrites(write))
    return { outcome, unguarded: unguarded.map(({ collection }) => collection.name) }
  }

  for (const operation of sampleOf(operations.filter(({ hints, name }) => !hints.readOnly && !leftOut.has(name)))) {
    it(operation.name, async () => {
      const { outcome, unguarded } = await called(operation)
      const { code, text } = outcome
      expect(unguarded, "updates of a revision that do not name the revision before").to.deep.equal([])
      expect(code, text).to.equal(refused.has(operation.name) ? "aborted" : undefined)
    })
  }
})

/** Records what the service commits. */
function commitsOf({ get }: ParityFixture["host"]) {
  const store = get(Store)
  const own = store.commit
  const writes: Write[] = []
  store.commit = (commit) => {
    writes.push(...commit.writes)
    return own.call(store, commit)
  }
  return { writes, stop: () => void Object.assign(store, { commit: own }) }
}

/** Returns true for an update that counts up a revision without a condition on the revision. */
function overwrites(write: Write): boolean {
  if (write.kind !== "update" || write.upsert) return false
  const { update, where = {} } = write
  return (Object.hasOwn(update.$set ?? {}, "revision") || Object.hasOwn(update.$inc ?? {}, "revision")) && !Object.hasOwn(where, "revision")
}
