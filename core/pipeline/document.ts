// The shape of a pipeline document for REST, MCP, the CLI and files. The compiler checks its meaning.
import { z } from "zod"
import { AnyJson, Name, Slug } from "../contract/fields.ts"
import { defaultRetry } from "../contract/job.ts"

/** Only an active pipeline accepts events. */
export const PipelineState = z.enum(["active", "disabled", "proposed"])
/** Sources of a pipeline's events. */
export const SourceKind = z.enum(["browser_form", "third_party_webhook", "custom_http", "internal", "inbound_email"])

/** Returns true if the events come from inside the service. The pipeline then has no endpoint and no verification. */
export function isFedFromInside(kind: z.infer<typeof SourceKind>): boolean {
  return kind === "internal" || kind === "inbound_email"
}
/** Purposes of a pipeline. The service itself owns the pipeline for `page_events`. */
export const Purpose = z.enum(["record_capture", "page_events", "custom"])

const milliseconds = z.int().min(0).max(86_400_000)

export const Retry = z.strictObject({
  max_attempts: z.int().min(1).max(50).default(defaultRetry.max_attempts).describe("Maximum attempts; 1 by default before the reply."),
  initial_delay_ms: milliseconds.default(defaultRetry.initial_delay_ms).describe("Maximum delay before the second attempt."),
  factor: z.number().min(1).max(10).default(defaultRetry.factor).describe("Growth factor of the maximum delay."),
  max_delay_ms: milliseconds.default(defaultRetry.max_delay_ms).describe("Limit of the maximum delay."),
})

/** Fields of every action, beside the fields of its type. */
export const CommonActionFields = z.object({
  type: z.string().min(1).describe("Action type; `GET /v1/action-types` lists them."),
  id: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,63}$/, "lower-case letters, digits and _, starting with a letter")
    .optional()
    .describe("Name for `needs` and `steps.<id>`."),
  needs: z
    .array(z.string())
    .max(100)
    .optional()
    .describe("Ids of steps that must finish first; absent: the previous step in the list; []: none."),
  when: z.string().min(1).max(2_000).optional().describe("Liquid expression that yields true or false; false skips the step."),
  for_each: z
    .string()
    .min(1)
    .max(2_000)
    .optional()
    .describe("Liquid expression that yields a list of at most 1,000; the step runs once per element, as `item`."),
  on_error: z.string().optional().describe("`fail` (default), `continue`, or an id under `handlers`."),
  retry: Retry.partial().optional().describe("Retry policy of the step."),
  timeout_ms: z.int().min(1).max(600_000).optional().describe("Deadline of this step."),
  gate: z
    .boolean()
    .optional()
    .describe("Wait for a person's approval before the step, where the organization asks for it at the gate of this action type."),
  await: z.boolean().optional().describe("Run a deferred action before the reply."),
})
export type CommonActionFields = z.infer<typeof CommonActionFields>

/** An action object: the common fields and the fields of its type. The compiler checks the latter. */
const ActionObject = z.looseObject({ type: z.string().min(1) })
export type ActionObject = z.infer<typeof ActionObject>

export const Dedupe = z.strictObject({
  key: z.string().min(1).max(1_000).describe("Template of the key; `headers` can be read too."),
  window: z
    .union([z.string().regex(/^\d{1,5}(s|m|h|d)$/, "a number and s, m, h or d, such as 24h"), z.int().min(1)])
    .default("24h")
    .describe("Time during which a repeat is detected; a number is in seconds."),
})

/** Maximum number of steps of a pipeline. */
export const maxSteps = 100

/** Fields of a document in calls. Files and `apply` add `slug` and references for `secret`. */
export const documentFields = {
  name: Name,
  state: PipelineState.default("proposed").describe("Only an `active` pipeline accepts events; the endpoint of any other answers 404."),
  source_kind: SourceKind.default("custom_http").describe(
    "Source of events. An `internal` pipeline has no endpoint, other pipelines send to it; nor has one of `inbound_email`, which gets each mail that the organization's sending domains receive.",
  ),
  auth_mode: z.string().min(1).max(64).default("hmac_sha256").describe("How senders of events are verified."),
  auth_config: z.record(z.string(), AnyJson).default({}).describe("Fields of the auth mode, and its `secret`."),
  request_schema: z
    .union([z.record(z.string(), AnyJson), z.boolean()])
    .nullable()
    .default(null)
    .describe("JSON Schema (2020-12, or draft-07 if `$schema` says so) of the body; a body that does not match is answered 400."),
  transform_js: z
    .string()
    .max(256 * 1_024)
    .nullable()
    .default(null)
    .describe(
      "JavaScript with `function transform(event, context)`: its result is the `event` that the steps see; null accepts the event without running a step.",
    ),
  pipeline: z.array(ActionObject).max(maxSteps).default([]).describe("The steps, in order."),
  handlers: z
    .record(z.string(), ActionObject)
    .default({})
    .describe("Steps by id; each runs when a step that names it in `on_error` fails."),
  dedupe: Dedupe.nullable()
    .default(null)
    .describe("How repeats of an event are detected; a repeat gets the response of the first event, and no step runs."),
  purpose: Purpose.default("custom").describe("Purpose of the pipeline."),
  accept_files: z
    .boolean()
    .optional()
    .describe(
      "Whether forms may have files, which are stored in the bucket. Absent: yes, unless the `auth_mode` is `none`, with which anybody could store files.",
    ),
  acknowledged_warnings: z
    .array(z.string().regex(/^[a-z0-9-]{1,64}$/))
    .max(50)
    .optional()
    .describe("Lint rules whose warnings about this pipeline are suppressed, such as `split-leads-dataset`."),
  owner_artifact_id: z
    .uuid()
    .toLowerCase()
    .nullable()
    .default(null)
    .describe("The published page that events of `public_artifact` come from."),
}

/** A pipeline document in a file or in a call of `event_pipelines.create`. */
export const PipelineDocument = z.strictObject({
  slug: Slug.optional().describe("Identity of the pipeline for files and `apply`; derived from the name when absent."),
  ...documentFields,
})
export type PipelineDocument = z.infer<typeof PipelineDocument>

/** Returns true if forms may contain files. */
export function acceptsFiles({ accept_files, auth_mode }: Pick<PipelineDocument, "accept_files" | "auth_mode">): boolean {
  return accept_files ?? auth_mode !== "none"
}
