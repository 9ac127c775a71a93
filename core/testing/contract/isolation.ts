// "Another organization's resources are unreachable". The owner has all resources of the examples, marked with unique texts. A
// stranger without resources runs the same steps and names the owner's resources. The test fails if the owner's data changes or
// appears.
import type { Json } from "../../contract/collection.ts"
import { containsTemplate } from "../../contract/template.ts"
import { AppError } from "../../kernel/errors.ts"
import { type ContractFixture, canary, differing, type FixtureOrganization, type Holdings, violation } from "./fixture.ts"
import { eventFor, type StepDocument, stepOf } from "./subject.ts"

/** Maximum of the owner's ids tried in each field. */
const maxIds = 6

export async function keepsToItsOrganization(fixture: ContractFixture): Promise<void> {
  const steps = fixture.subject.action.examples.map(stepOf)
  const owner = await fixture.site()
  for (const step of steps) await runAsOwner(owner, step)
  const held = await owner.everythingAtRest()
  const stranger = await fixture.site({ bare: true })
  let named = JSON.stringify(eventFor(fixture.subject))
  for (const step of steps.flatMap((one) => [one, ...reaching(one, owner, held)])) {
    const { mails, calls } = fixture.rehearsal.outgoing
    await attempt(stranger, step)
    const own = await stranger.everything()
    const told = JSON.stringify([mails, calls, own])
    // A stranger may see the content of its own documents.
    named += JSON.stringify(step)
    const ownIds = new Set(idsOf(own))
    const shown = marksOf(owner, held).find((mark) => told.includes(mark) && !named.includes(mark) && !ownIds.has(mark))
    if (shown !== undefined) violation(`An organization gets at another's: "${shown}" shows in what ${JSON.stringify(step)} left behind.`)
    const changed = differing(held, await owner.everything())
    if (changed.length > 0) violation(`An organization changes another's ${changed.join(", ")} by ${JSON.stringify(step)}.`)
  }
}

/** Sends an event with texts marked as the owner's. Falls back to the usual event if the step refuses marked texts. */
async function runAsOwner(owner: FixtureOrganization, step: StepDocument): Promise<void> {
  const pipeline = await owner.make(step)
  const { entry } = await owner.send(pipeline, markedEvent(owner))
  if (Object.values(entry.steps).some(({ state }) => state !== "done")) await owner.send(pipeline)
}

/** Adds a unique mark to names, sentences, ids and addresses. Codes, links and numbers are unchanged. */
function markedEvent({ fixture, marks }: FixtureOrganization): Record<string, Json> {
  const marked = Object.entries(eventFor(fixture.subject)).map(([field, value]) => {
    if (typeof value !== "string" || !/^[\p{L}\p{N} _.,!?@-]+$/u.test(value) || /^[A-Z0-9]+$/.test(value)) return [field, value] as const
    const mark = canary()
    marks.push(mark)
    return [field, value.includes("@") ? value.replace("@", `-${mark}@`) : `${value}-${mark}`] as const
  })
  return Object.fromEntries(marked)
}

/** A refusal is the expected result. */
async function attempt(site: FixtureOrganization, step: StepDocument): Promise<void> {
  const { mails, calls } = site.harness.rehearsal.outgoing
  // Captured from other pipelines. A refused pipeline sends no mails or calls of its own.
  mails.length = 0
  calls.length = 0
  try {
    await site.send(await site.make(step))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
  }
}

/**
 * Returns copies of the step with the owner's resources in its texts: by qualified slug, and by id, as an event could contain
 * them.
 */
function reaching(step: StepDocument, { organization }: FixtureOrganization, held: Holdings): StepDocument[] {
  const { type, id, ...fields } = step
  // Collections of the plugins under test come last.
  const ids = Object.values(held)
    .toReversed()
    .flatMap((documents) => idsOf({ documents: documents.slice(0, 1) }))
  return namesIn(fields).flatMap(({ name, with: naming }) => {
    const qualified = name === undefined ? [] : [`${organization.slug}.${name}`]
    return [...qualified, ...ids.slice(0, maxIds)].map((value) => ({ ...step, ...(naming(value) as StepDocument) }))
  })
}

interface Naming {
  /** The name in the document. Undefined if it comes from the event. */
  readonly name: string | undefined
  /** Returns the full value with another name. */
  with(text: string): Json
}

/** Returns texts usable as resource names: slugs and texts with templates. */
function namesIn(value: Json): Naming[] {
  if (typeof value === "string") {
    if (containsTemplate(value)) return [{ name: undefined, with: (text) => value.replaceAll(/\{\{.*?\}\}/g, () => text) }]
    return /^[a-z0-9][a-z0-9-]*$/.test(value) ? [{ name: value, with: (text) => text }] : []
  }
  if (typeof value !== "object" || value === null) return []
  if (Array.isArray(value))
    return value.flatMap((inner, index) =>
      namesIn(inner).map((one) => ({ ...one, with: (text: string) => value.toSpliced(index, 1, one.with(text)) })),
    )
  return Object.entries(value).flatMap(([key, inner]) =>
    namesIn(inner).map((one) => ({ ...one, with: (text: string) => ({ ...value, [key]: one.with(text) }) })),
  )
}

/** Texts known only to the owner. */
function marksOf({ organization, marks }: FixtureOrganization, held: Holdings): string[] {
  return [...marks, `.integration.test/${organization.slug}`, ...idsOf(held)]
}

function idsOf(held: Holdings): string[] {
  return Object.values(held).flatMap((documents) => documents.map(({ id }) => id))
}
