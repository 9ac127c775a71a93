// "Another organization's resources are unreachable": one organization has everything that the examples need, and says
// what nobody else does; a second one has nothing, runs the same, and names what is the first one's. Nothing of the first
// may change, or show.
import type { Json } from "../../contract/collection.ts"
import { containsTemplate } from "../../contract/template.ts"
import { AppError } from "../../kernel/errors.ts"
import { type ContractFixture, canary, differing, type FixtureOrganization, type Holdings, violation } from "./fixture.ts"
import { eventFor, type StepDocument, stepOf } from "./subject.ts"

/** Ids of the other's that are tried in each field. */
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
    // What the stranger's own documents say is not a secret to it.
    named += JSON.stringify(step)
    const ownIds = new Set(idsOf(own))
    const shown = marksOf(owner, held).find((mark) => told.includes(mark) && !named.includes(mark) && !ownIds.has(mark))
    if (shown !== undefined) violation(`An organization gets at another's: "${shown}" shows in what ${JSON.stringify(step)} left behind.`)
    const changed = differing(held, await owner.everything())
    if (changed.length > 0) violation(`An organization changes another's ${changed.join(", ")} by ${JSON.stringify(step)}.`)
  }
}

/** With an event whose texts are marked as the owner's, or the usual one where the step refuses that. */
async function runAsOwner(owner: FixtureOrganization, step: StepDocument): Promise<void> {
  const pipeline = await owner.make(step)
  const { entry } = await owner.send(pipeline, markedEvent(owner))
  if (Object.values(entry.steps).some(({ state }) => state !== "done")) await owner.send(pipeline)
}

/** Names, sentences, ids and addresses each with a mark of their own; codes, links and numbers are left as they are. */
function markedEvent({ fixture, marks }: FixtureOrganization): Record<string, Json> {
  const marked = Object.entries(eventFor(fixture.subject)).map(([field, value]) => {
    if (typeof value !== "string" || !/^[\p{L}\p{N} _.,!?@-]+$/u.test(value) || /^[A-Z0-9]+$/.test(value)) return [field, value] as const
    const mark = canary()
    marks.push(mark)
    return [field, value.includes("@") ? value.replace("@", `-${mark}@`) : `${value}-${mark}`] as const
  })
  return Object.fromEntries(marked)
}

/** A refusal is what is hoped for. */
async function attempt(site: FixtureOrganization, step: StepDocument): Promise<void> {
  const { mails, calls } = site.harness.rehearsal.outgoing
  // Of others; a pipeline that is refused sends nothing in their place.
  mails.length = 0
  calls.length = 0
  try {
    await site.send(await site.make(step))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
  }
}

/** The step with the other's things named in its texts: by qualified slug, and by id, which an event could name as well. */
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
  /** What is named as it is; undefined where an event says it. */
  readonly name: string | undefined
  /** The whole value with another name there. */
  with(text: string): Json
}

/** Texts that can name a thing: slugs, and those that an event has a say in. */
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

/** What nobody but the owner can know. */
function marksOf({ organization, marks }: FixtureOrganization, held: Holdings): string[] {
  return [...marks, `.integration.test/${organization.slug}`, ...idsOf(held)]
}

function idsOf(held: Holdings): string[] {
  return Object.values(held).flatMap((documents) => documents.map(({ id }) => id))
}
