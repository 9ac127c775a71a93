// "Secrets in its config never appear in journal, logs or errors": a canary is put wherever the config can hold a secret,
// and then looked for, when all goes well and when nothing does.
import { z } from "zod"
import type { ActionExample } from "../../contract/action.ts"
import type { Json } from "../../contract/collection.ts"
import { Store } from "../../contract/store.ts"
import type { CallFixture } from "../../house/captured-outside.ts"
import { JobCollection } from "../../jobs/jobs-collection.ts"
import { AppError } from "../../kernel/errors.ts"
import { secretNames } from "../../kernel/log.ts"
import { PipelineEngine } from "../../pipeline/engine.ts"
import { EntryCollection } from "../../pipeline/journal/collections.ts"
import { broken } from "./broken.ts"
import type { Ground, Site } from "./ground.ts"
import { documentOf, type StepDocument, stepOf } from "./subject.ts"

const secretName = new RegExp(`^(${secretNames.join("|")}|passphrase)$|_(key|token|secret|password|passphrase)$`, "i")
/** Put into objects that take any field. */
const secretFields = ["authorization", "password", "token", "api_key"]

export async function keepsSecrets(ground: Ground, example: ActionExample): Promise<void> {
  const site = await ground.site()
  for (const step of await withSecret(ground, stepOf(example), site.secret)) {
    const { logged, outside } = ground.bench
    const from = logged.length
    const pipeline = await site.make({ ...step, retry: { max_attempts: 1 } })
    for (const [circumstance, answer] of circumstances) {
      outside.fixtures.unshift(answer)
      outside.onMail = (mail) => void answer({ method: "MAIL", url: mail.to.join(), headers: {}, body: null })
      const { response } = await site.send(pipeline).finally(() => ground.answerCalls())
      const places: Record<string, unknown> = {
        "the journal": await journalOf(site),
        "the logs": logged.slice(from),
        "the errors of jobs": await jobErrors(ground),
        "the error that the sender is answered": response.status >= 400 ? response.body : "",
      }
      for (const [place, content] of Object.entries(places))
        if (JSON.stringify(content).includes(site.secret))
          broken(`A secret of its config stands in ${place}, ${circumstance}. The config was ${JSON.stringify(step)}.`)
    }
  }
}

const circumstances: readonly (readonly [string, CallFixture])[] = [
  ["when all goes well", () => ({ status: 200, headers: { "content-type": "application/json" }, body: "{}" })],
  ["when it is refused", () => ({ status: 403, headers: { "content-type": "text/plain" }, body: "no" })],
  [
    "when nobody can be reached",
    () => {
      throw new AppError("unavailable", "The call could not be made.", { retryable: false })
    },
  ],
]

/** The example as it is, and with the secret in each place of its config that can hold one. */
async function withSecret({ subject, bench }: Ground, step: StepDocument, secret: string): Promise<StepDocument[]> {
  const engine = bench.house.container.get(PipelineEngine)
  const schema = z.toJSONSchema(subject.action.config, { io: "input", unrepresentable: "any" }) as { properties?: Record<string, object> }
  const steps: StepDocument[] = [step]
  for (const [field, declared] of Object.entries(schema.properties ?? {})) {
    const given = step[field]
    const holder = typeof given === "object" && given !== null && !Array.isArray(given) ? given : {}
    const candidates: Json[] = secretName.test(field) ? [secret] : secretFields.map((name) => ({ ...holder, [name]: secret }))
    if (!secretName.test(field) && !takesObject(declared)) continue
    for (const value of candidates) {
      const changed = { ...step, [field]: value }
      if ((await engine.compile(documentOf(changed))).ok) steps.push(changed)
    }
  }
  return steps
}

/** Whether it may be an object at all; the compiler says which fields it takes. */
function takesObject(schema: object): boolean {
  return /"type":"object"|"\$ref"|^\{("description":"[^"]*")?\}$/.test(JSON.stringify(schema))
}

async function journalOf(site: Site): Promise<unknown> {
  const { container } = site.desk.bench.house
  return container.get(Store).open(EntryCollection, site.organization.id).find({}, { limit: 10_000 })
}

async function jobErrors(ground: Ground): Promise<unknown> {
  const jobs = await ground.bench.house.container.get(Store).open(JobCollection).find({}, { limit: 10_000 })
  return jobs.map(({ last_error }) => last_error)
}
