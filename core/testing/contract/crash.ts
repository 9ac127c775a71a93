// "Retried after a crash, the action does not repeat its effect" (by its `idempotency`). Simulates a crash after the effect and
// before its record. A retry cannot detect this moment.
import { isDeepStrictEqual } from "node:util"
import type { ActionExample } from "../../contract/action.ts"
import type { Document } from "../../contract/collection.ts"
import type { OutgoingCall, OutgoingMail } from "../../contract/outgoing.ts"
import { AppError } from "../../kernel/errors.ts"
import { journalCollections } from "../../pipeline/journal/collections.ts"
import type { EventOutcome, MadePipeline } from "../../rehearsal/harness.ts"
import { type ContractFixture, differing, type FixtureOrganization, type Holdings, stepDone, violation, whileWatched } from "./fixture.ts"
import { type StepDocument, stepOf } from "./subject.ts"

const laterMs = 60_000

export async function survivesCrash(fixture: ContractFixture, example: ActionExample): Promise<void> {
  const { action } = fixture.subject
  const { await: _, ...plain } = stepOf(example)
  const step: StepDocument = action.timing === "deferred" ? { ...plain, retry: { max_attempts: 3, initial_delay_ms: 1 } } : plain
  const clean = await fixture.site()
  const once = await clean.make(step)
  const untouched = await clean.everythingAtRest()
  stepDone(await clean.send(once))
  const expected = await effectsOf(clean, once, untouched)

  const site = await fixture.site()
  const pipeline = await site.make(step)
  const before = await site.everythingAtRest()
  let lost = false
  const loseFirst = async (run: () => unknown) => {
    const result = await run()
    if (lost) return result
    lost = true
    throw new AppError("unavailable", "The process ended before the outcome was kept.", { reason: "unavailable" })
  }
  const outcome = await whileWatched(action, loseFirst, () => site.send(pipeline))
  if (action.timing === "commit") {
    const { documents } = await effectsOf(site, pipeline, before)
    const left = Object.keys(documents).filter((name) => documents[name]?.length)
    if (left.length > 0) violation(`A failed execution left documents in ${left.join(", ")}; a commit action only stages writes.`)
    // The sender or a person runs the event again. State of the first try may have to expire before.
    fixture.rehearsal.clock.move(laterMs)
    await site.replay(pipeline, outcome.entry)
  } else stepDone(outcome)
  if (action.idempotency === undefined) return
  await site.replay(pipeline, outcome.entry)
  compare(action.idempotency, expected, await effectsOf(site, pipeline, before), outcome)
}

function compare(idempotency: "exactly_once" | "idempotency_key", once: Effects, again: Effects, { entry }: EventOutcome): void {
  const told = `after ${entry.status === "failed" ? "a failure" : "a crash"} and a replay`
  for (const name of differing(once.documents, again.documents)) {
    const [left, expected] = [again.documents[name] ?? [], once.documents[name] ?? []]
    if (left.length !== expected.length)
      violation(`It leaves ${left.length} documents in ${name} ${told}, and ${expected.length} when nothing happens.`)
    // An action with a repeated effect may record it.
    if (idempotency === "exactly_once")
      violation(`It leaves ${left.join(", ")} in ${name} ${told}, and ${expected.join(", ")} when nothing happens.`)
  }
  if (idempotency === "exactly_once") {
    if (again.mails.length !== once.mails.length)
      violation(`It sends ${again.mails.length} mails ${told}, and ${once.mails.length} when nothing happens.`)
    if (again.calls.length !== once.calls.length)
      violation(`It makes ${again.calls.length} calls ${told}, and ${once.calls.length} when nothing happens.`)
    return
  }
  const ids = (mails: Effects["mails"]) => new Set(mails.map(({ message_id }) => message_id)).size
  if (ids(again.mails) !== ids(once.mails))
    violation(`Its mails carry another Message-ID ${told}; derive it from \`context.idempotencyKey\`.`)
  const bare = again.calls.find(({ headers }) => headers["idempotency-key"] === undefined)
  if (bare) violation(`Its call of ${bare.url} carries no Idempotency-Key; send \`context.idempotencyKey\`.`)
  const keys = (calls: Effects["calls"]) => new Set(calls.map(({ headers }) => headers["idempotency-key"])).size
  if (keys(again.calls) !== keys(once.calls)) violation(`Its calls carry another Idempotency-Key ${told}; send \`context.idempotencyKey\`.`)
}

// The effects of an action, comparable between two organizations.

interface Effects {
  /** Created, changed or removed documents by collection, in order. */
  readonly documents: Readonly<Record<string, readonly string[]>>
  readonly mails: readonly OutgoingMail[]
  readonly calls: readonly OutgoingCall[]
}

const journal: ReadonlySet<string> = new Set(journalCollections.map(({ name }) => name))

/** Generated ids, times, keys and encrypted values. Names for people and programs are shorter. */
const generated = /[\w:.+/=-]{16,}|\d{12,}/g

/**
 * Returns the effects of a pipeline's events since `before`, without their own journal entries. Two documents are equal if their
 * JSON is equal. Words of 16 or more characters, numbers of 12 or more digits and the organization's slug are ignored, because
 * ids and times differ. Journal entries of other pipelines are only counted.
 */
async function effectsOf(site: FixtureOrganization, { stored }: MadePipeline, before: Holdings): Promise<Effects> {
  const { mails, calls } = site.harness.rehearsal.outgoing
  const after = await site.everythingAtRest()
  const comparable = (one: Document) => JSON.stringify(one).replaceAll(generated, "*").replaceAll(site.organization.slug, "*")
  const documents: Record<string, string[]> = {}
  for (const [name, held] of Object.entries(after)) {
    const earlier = new Map((before[name] ?? []).map((one) => [one.id, one]))
    const changed = held.filter((one) => !isDeepStrictEqual(one, earlier.get(one.id)))
    const left = new Set(held.map(({ id }) => id))
    const removed = [...earlier.values()].filter(({ id }) => !left.has(id)).map((one) => `removed ${comparable(one)}`)
    const foreign = changed.filter((one) => "pipeline_id" in one && one["pipeline_id"] !== stored.id)
    documents[name] = journal.has(name) ? foreign.map(() => "an entry") : [...changed.map(comparable), ...removed].toSorted()
  }
  return { documents, mails: [...mails], calls: [...calls] }
}
