// The pipeline document: the shape that REST, MCP, the CLI and files share (specification 2.11 and 4.18). Only the
// shape; whether it makes sense is the compiler's business.
import { z } from "zod"
import { Name, Slug } from "../contract/fields.ts"
import { defaultRetry } from "../contract/job.ts"

/** Whether a pipeline takes events. */
export const PipelineState = z.enum(["active", "disabled", "proposed"])
/** Where a pipeline's events come from. */
export const SourceKind = z.enum(["browser_form", "third_party_webhook", "custom_http", "internal"])
/** What a pipeline is for; `page_events` is the service's own. */
export const Purpose = z.enum(["record_capture", "page_events", "custom"])

const milliseconds = z.int().min(0).max(86_400_000)

export const Retry = z.strictObject({
  max_attempts: z
    .int()
    .min(1)
    .max(50)
    .default(defaultRetry.max_attempts)
    .describe("Tries in all; before the reply 1 where it is not given."),
  initial_delay_ms: milliseconds.default(defaultRetry.initial_delay_ms).describe("Longest wait before the second try."),
  factor: z.number().min(1).max(10).default(defaultRetry.factor).describe("How much longer each wait may be than the one before."),
  max_delay_ms: milliseconds.default(defaultRetry.max_delay_ms).describe("Longest wait."),
})

/** Fields that every action takes beside its own. */
export const CommonActionFields = z.object({
  type: z.string().min(1).describe("Action type; `GET /v1/action-types` lists them."),
  id: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,63}$/, "lower-case letters, digits and _, starting with a letter")
    .optional()
    .describe("Name for `needs` and `steps.<id>`."),
  needs: z.array(z.string()).max(100).optional().describe("Ids of steps that must finish first; absent: the list's order; []: at once."),
  when: z.string().min(1).max(2_000).optional().describe("Liquid expression that yields true or false; false skips the step."),
  for_each: z
    .string()
    .min(1)
    .max(2_000)
    .optional()
    .describe("Liquid expression giving a list of at most 1,000; the step runs once an element, seen as `item`."),
  on_error: z.string().optional().describe("`fail` (default), `continue`, or an id under `handlers`."),
  retry: Retry.partial().optional().describe("How often a step that failed is tried again, and when."),
  timeout_ms: z.int().min(1).max(600_000).optional().describe("Deadline of this step."),
  await: z.boolean().optional().describe("Run a deferred action before the reply."),
})
export type CommonActionFields = z.infer<typeof CommonActionFields>

/** An action object: the common fields and those of its type, which the compiler checks. */
export const ActionObject = z.looseObject({ type: z.string().min(1) })
export type ActionObject = z.infer<typeof ActionObject>

export const Dedupe = z.strictObject({
  key: z.string().min(1).max(1_000).describe("Template of the key; sees `headers` too."),
  window: z
    .union([z.string().regex(/^\d{1,5}(s|m|h|d)$/, "a number and s, m, h or d, such as 24h"), z.int().min(1)])
    .default("24h")
    .describe("How long a repeat is recognised; a number is seconds."),
})

/** Most steps of a pipeline. */
export const maxSteps = 100

/** The fields of a document that a caller may give; `slug` and `secret` references are for files and `apply`. */
export const documentFields = {
  name: Name,
  state: PipelineState.default("proposed").describe("Only an `active` pipeline takes events; the address of any other answers 404."),
  source_kind: SourceKind.default("custom_http").describe("Where events come from; an `internal` pipeline has no address, others feed it."),
  auth_mode: z.string().min(1).max(64).default("hmac_sha256").describe("How events prove where they come from."),
  auth_config: z.record(z.string(), z.json()).default({}).describe("Fields of the auth mode, and its `secret`."),
  request_schema: z
    .union([z.record(z.string(), z.json()), z.boolean()])
    .nullable()
    .default(null)
    .describe("JSON Schema (2020-12, or draft-07 where `$schema` says so) that a body must fit; what does not is answered 400."),
  transform_js: z
    .string()
    .max(256 * 1_024)
    .nullable()
    .default(null)
    .describe(
      "JavaScript with `function transform(event, context)`: what it returns is the `event` that the steps see; null accepts the event and does nothing.",
    ),
  pipeline: z.array(ActionObject).max(maxSteps).default([]).describe("The steps: what is done with an event, in this order."),
  handlers: z
    .record(z.string(), ActionObject)
    .default({})
    .describe("Steps by id that run when one that names them in `on_error` has failed."),
  dedupe: Dedupe.nullable()
    .default(null)
    .describe("How a repeat of an event is recognised; a repeat is answered as the first was, and does nothing."),
  purpose: Purpose.default("custom").describe("What the pipeline is for."),
  acknowledged_warnings: z
    .array(z.string().regex(/^[a-z0-9-]{1,64}$/))
    .max(50)
    .optional()
    .describe("Lint rules whose warnings about this pipeline were read and are not wanted again, such as `split-leads-dataset`."),
  owner_artifact_id: z
    .uuid()
    .toLowerCase()
    .nullable()
    .default(null)
    .describe("The published page that events of `public_artifact` come from."),
}

/** A pipeline's document, as files hold it and `event_pipelines.create` takes it. */
export const PipelineDocument = z.strictObject({
  slug: Slug.optional().describe("Its identity for files and `apply`; made of the name when absent."),
  ...documentFields,
})
export type PipelineDocument = z.infer<typeof PipelineDocument>
