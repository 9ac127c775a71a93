// "Secrets in its config never appear in journal, logs or errors". Inserts a canary at each possible place, runs successful and
// failing cases, and searches for the canary. If the schema refuses the canary, the search uses the example's own secret.
import type { ActionExample } from "../../contract/action.ts"
import { Store } from "../../contract/store.ts"
import { containsTemplate } from "../../contract/template.ts"
import { JobCollection } from "../../jobs/jobs-collection.ts"
import { AppError } from "../../kernel/errors.ts"
import { PipelineEngine } from "../../pipeline/engine.ts"
import { EntryCollection } from "../../pipeline/journal/collections.ts"
import type { CallFixture } from "../../rehearsal/captured-outgoing.ts"
import { type ContractFixture, type FixtureOrganization, violation } from "./fixture.ts"
import { configSchemaOf, minSecretLength, placesOf, type SecretPlace } from "./secret-places.ts"
import { documentOf, type StepDocument, stepOf } from "./subject.ts"

interface Trial {
  readonly site: FixtureOrganization
  readonly step: StepDocument
  /** Texts with forbidden appearance. */
  readonly secrets: readonly string[]
  /** Pointers of the secret fields covered by this trial. */
  readonly fields: readonly string[]
}

export async function keepsSecrets(fixture: ContractFixture): Promise<void> {
  const { action } = fixture.subject
  const named = new Set<string>()
  const trials: Trial[] = []
  for (const example of action.examples) {
    const places = placesOf(configSchemaOf(action), stepOf(example))
    for (const field of places.flatMap(({ fields }) => fields)) named.add(field)
    trials.push(...(await trialsOf(fixture, example, places)))
  }
  const tried = new Set(trials.flatMap(({ fields }) => fields))
  const missed = [...named].filter((field) => !tried.has(field))
  if (missed.length > 0)
    violation(
      `No secret could be tried in ${missed.join(", ")}: give an example with one there, in plain text and of at least ${minSecretLength} characters.`,
    )
  for (const trial of trials) await staysSecret(fixture, trial)
}

/** Returns the example with the canary at each accepting place, and the unchanged example for other secrets. */
async function trialsOf(fixture: ContractFixture, example: ActionExample, places: readonly SecretPlace[]): Promise<Trial[]> {
  const engine = fixture.rehearsal.runtime.container.get(PipelineEngine)
  const site = await fixture.site()
  const step = stepOf(example)
  const trials: Trial[] = []
  const secrets = [site.secret]
  const fieldsAsGiven: string[] = []
  const seen = new Set<string>()
  for (const { fields, own, with: having } of places) {
    const changed = having(site.secret) as StepDocument
    const text = JSON.stringify(changed)
    if (seen.has(text)) continue
    seen.add(text)
    if ((await engine.compile(documentOf(changed, fixture.subject.options))).ok)
      trials.push({ site, step: changed, secrets: [site.secret], fields })
    else if (own !== undefined && canBeFound(own)) {
      secrets.push(asWritten(own))
      fieldsAsGiven.push(...fields)
    }
  }
  return [{ site, step, secrets, fields: fieldsAsGiven }, ...trials]
}

async function staysSecret(fixture: ContractFixture, { site, step, secrets }: Trial): Promise<void> {
  const { logged, outgoing } = fixture.rehearsal
  const from = logged.length
  const pipeline = await site.make({ ...step, retry: { max_attempts: 1 } })
  for (const [circumstance, answer] of circumstances) {
    outgoing.fixtures.unshift(answer)
    outgoing.onMail = async (mail) => {
      await answer({ method: "MAIL", url: mail.to.join(), headers: {}, body: null })
    }
    const { response } = await site.send(pipeline).finally(() => fixture.answerCalls())
    const places: Record<string, unknown> = {
      "the journal": await journalOf(site),
      "the logs": logged.slice(from),
      "the errors of jobs": await jobErrors(fixture),
      "the error that the sender is answered": response.status >= 400 ? response.body : "",
    }
    for (const [place, content] of Object.entries(places)) {
      const text = JSON.stringify(content)
      if (secrets.some((secret) => text.includes(secret)))
        violation(`A secret of its config appears in ${place}, ${circumstance}. The config was ${JSON.stringify(step)}.`)
    }
  }
}

/** Excludes templates, because their value comes from the event, and short texts, because they occur by chance. */
function canBeFound(own: string): boolean {
  return !containsTemplate(own) && asWritten(own).length >= minSecretLength
}

/** Returns the longest part of a text unchanged by JSON escapes, also in nested JSON. */
function asWritten(text: string): string {
  return text.split(/[\p{Cc}"\\]/u).reduce((longest, part) => (part.length > longest.length ? part : longest), "")
}

const circumstances: readonly (readonly [string, CallFixture])[] = [
  ["when all goes well", () => ({ status: 200, headers: { "content-type": "application/json" }, body: "{}" })],
  ["when it is refused", () => ({ status: 403, headers: { "content-type": "text/plain" }, body: "no" })],
  [
    "when nothing can be reached",
    () => {
      throw new AppError("unavailable", "The call could not be made.", { reason: "unavailable", retryable: false })
    },
  ],
]

async function journalOf(site: FixtureOrganization): Promise<unknown> {
  const { container } = site.harness.rehearsal.runtime
  return container.get(Store).open(EntryCollection, site.organization.id).find({}, { limit: 10_000 })
}

async function jobErrors(fixture: ContractFixture): Promise<unknown> {
  const jobs = await fixture.rehearsal.runtime.container.get(Store).open(JobCollection).find({}, { limit: 10_000 })
  return jobs.map(({ last_error }) => last_error)
}
