// Lists a pipeline's secrets with evidence of their use, and ends a rotated secret early.
import { z } from "zod"
import { AppError, Clock, defineOperation, resultOf, SlugOrId, Timestamp, Uuid } from "#core"
import { Declarations } from "#core/engine"
import type { PipelineRecord } from "../collections.ts"
import { EventPipelines } from "../pipelines.ts"
import { secretMaker } from "../rules.ts"
import { evidenceOf, SecretEvidence, type SecretUseSource, SecretUseSources } from "../secret-evidence.ts"

const path = "/v1/event-pipelines/{slug}/secrets"
const inject = { pipelines: EventPipelines, sources: SecretUseSources, clock: Clock, declared: Declarations }

const pipeline = { operation: "event_pipelines.create", input: { name: "Orders" } }
const rotated = {
  pipeline,
  rotation: { operation: "event_pipelines.rotate_secret", input: { slug: resultOf("pipeline.slug"), overlap: "24h" } },
  listed: { operation: "event_pipelines.list_secrets", input: { slug: resultOf("pipeline.slug") } },
}

export const listSecrets = defineOperation({
  name: "event_pipelines.list_secrets",
  summary: "List the secrets of a pipeline: when each last verified an event, from which addresses, and whether it may be ended.",
  description:
    "Secrets themselves are not shown. Counts of other nodes are up to five seconds old. Test events count, since they verify too. Without the plugin `pipeline-insights`, all counts are 0.",
  http: { method: "GET", path },
  access: { scope: "event_pipelines:read", role: "admin" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  columns: ["id", "state", "ends_at", "last_verified_at", "verified_last_hour", "may_end"],
  input: z.strictObject({ slug: SlugOrId }),
  output: z.object({
    secrets: z.array(SecretEvidence),
    made_by: z
      .enum(["service", "sender"])
      .nullable()
      .describe("Who makes the secret of its auth mode: one of a sender's is given by rotating. Null where the mode has none."),
  }),
  errors: ["not_found"],
  examples: [{ given: { pipeline }, input: { slug: resultOf("pipeline.slug") } }],
  inject,
  async handle({ input, caller, deps }) {
    const record = await deps.pipelines.get(caller.organization.id, input.slug)
    const secrets = await evidence(caller.organization.id, record, deps)
    return { secrets, made_by: secretMaker(deps.declared, record.document) }
  },
})

export const endSecret = defineOperation({
  name: "event_pipelines.end_secret",
  summary: "End an earlier secret before its overlap does.",
  description:
    "Refused if the secret verified events in the last hour; the error gives their number. Refused too if the plugin `pipeline-insights` is off. `force` ends the secret nevertheless. The secret ends at once, on every node.",
  http: { method: "POST", path: `${path}/{secret_id}/end` },
  access: { scope: "event_pipelines:write", role: "admin" },
  hints: { readOnly: false, destructive: true, idempotent: false },
  input: z.strictObject({
    slug: SlugOrId,
    secret_id: Uuid,
    force: z.boolean().default(false).describe("End it although it verified events in the last hour."),
  }),
  output: z.object({
    secret_id: Uuid,
    ended_at: Timestamp,
    verified_last_hour: z.int().describe("Events of the last hour that would have failed without it."),
    last_verified_at: Timestamp.nullable(),
  }),
  errors: ["not_found", "failed_precondition", "aborted"],
  examples: [{ given: rotated, input: { slug: resultOf("pipeline.slug"), secret_id: resultOf("listed.secrets.1.id") } }],
  inject,
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const record = await deps.pipelines.get(organization, input.slug)
    const known = (await evidence(organization, record, deps)).find(({ id }) => id === input.secret_id)
    if (!known)
      throw new AppError("not_found", `The pipeline "${record.slug}" has no secret ${input.secret_id} that is in force.`, {
        reason: "secret_not_found",
      })
    if (known.state === "current")
      throw new AppError("failed_precondition", `The secret ${known.id} is the current one; rotate it first, and end it then.`, {
        reason: "secret_current",
      })
    if (deps.sources.length === 0 && !input.force)
      throw new AppError(
        "failed_precondition",
        `It is unknown whether the secret ${known.id} is in use, because the plugin pipeline-insights is off; pass force: true to end it.`,
        { reason: "secret_use_unknown" },
      )
    const { verified_last_hour, last_verified_at, addresses } = known
    if (verified_last_hour > 0 && !input.force) {
      const message = `The secret ${known.id} verified ${verified_last_hour} ${verified_last_hour === 1 ? "event" : "events"} of the last hour, the last at ${last_verified_at}: they would have failed. Move their senders to the new secret, or pass force: true.`
      const details = {
        reason: "secret_in_use",
        verified_last_hour,
        last_verified_at,
        addresses: addresses.map(({ address }) => address),
      } as const
      throw new AppError("failed_precondition", message, details)
    }
    const ended_at = await deps.pipelines.endSecret(organization, record, known.id, work)
    return { secret_id: known.id, ended_at, verified_last_hour, last_verified_at }
  },
})

interface EvidenceDeps {
  readonly sources: readonly SecretUseSource[]
  readonly clock: Clock
}

async function evidence(organization: string, { id, secrets }: PipelineRecord, { sources: [source], clock }: EvidenceDeps) {
  return evidenceOf(secrets, (await source?.(organization, id)) ?? new Map(), clock.now())
}
