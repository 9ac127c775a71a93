// "Another organization's resources are unreachable": one organization has everything that the examples need; a second
// one has nothing, runs the same, and names what is the first one's. Nothing of the first may change, or show.
import { Collections } from "../../contract/collection.ts"
import { AppError } from "../../kernel/errors.ts"
import { broken } from "./broken.ts"
import { differing, type Ground, type Holdings, type Site } from "./ground.ts"
import { type StepDocument, stepOf } from "./subject.ts"

/** Ids of the other's that are tried in each field. */
const mostIds = 6

export async function keepsToItsOrganization(ground: Ground): Promise<void> {
  const steps = ground.subject.action.examples.map(stepOf)
  const owner = await ground.site()
  for (const step of steps) await owner.send(await owner.make(step))
  const held = await owner.everything()
  const stranger = await ground.site({ bare: true })
  let named = ""
  for (const step of steps.flatMap((one) => [one, ...reaching(one, owner, held)])) {
    const { mails, calls } = ground.bench.outside
    await attempt(stranger, step)
    const told = JSON.stringify([mails, calls, await stranger.everything()])
    // What the stranger's own documents say is no secret to it.
    named += JSON.stringify(step)
    const shown = marksOf(owner, held).find((mark) => told.includes(mark) && !named.includes(mark))
    if (shown !== undefined) broken(`An organization gets at another's: "${shown}" shows in what ${JSON.stringify(step)} left behind.`)
    const changed = differing(held, await owner.everything())
    if (changed.length > 0) broken(`An organization changes another's ${changed.join(", ")} by ${JSON.stringify(step)}.`)
  }
}

/** A refusal is what is hoped for. */
async function attempt(site: Site, step: StepDocument): Promise<void> {
  try {
    await site.send(await site.make(step))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
  }
}

/** The step with the other's things named in its text fields: by qualified slug, and by id. */
function reaching(step: StepDocument, { organization, desk }: Site, held: Holdings): StepDocument[] {
  const own = new Set(desk.bench.house.registry.items(Collections).map(({ name }) => name))
  const ids = Object.entries(held).flatMap(([name, documents]) => (own.has(name) ? documents.slice(0, 1).map(({ id }) => id) : []))
  const fields = Object.keys(step).filter((key) => key !== "type" && /^[a-z0-9][a-z0-9-]*$/.test(String(step[key])))
  return fields.flatMap((field) =>
    [`${organization.slug}.${String(step[field])}`, ...ids.slice(0, mostIds)].map((value) => ({ ...step, [field]: value })),
  )
}

/** What nobody but the owner can know. */
function marksOf({ organization, secret }: Site, held: Holdings): string[] {
  const ids = Object.values(held).flatMap((documents) => documents.map(({ id }) => id))
  return [secret, organization.id, `.integration.test/${organization.slug}`, ...ids]
}
