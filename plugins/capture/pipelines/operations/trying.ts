// Tries a pipeline without a sender: validates a document, runs an event dry, sends an internal event.
import { z } from "zod"
import { AnyJson, defineOperation, LogLines, SlugOrId, Uuid } from "#core"
import { PipelineDocument, PipelineEngine, PipelineSource } from "#core/engine"
import { Integrations } from "../../../agents/integrations/index.ts"
import { Pages } from "../../../pages/pages/index.ts"
import { missingConnections } from "../called-connections.ts"
import { Force, refuseForce, requirePipeline } from "../rules.ts"
import { unpublishedPage } from "../unpublished-page.ts"
import { document, madePipeline, taken } from "./examples.ts"

const path = "/v1/event-pipelines"

const FindingWire = z.object({
  rule: z.string(),
  level: z.enum(["error", "warning"]),
  message: z.string(),
  pointer: z.string(),
  line: z.int().optional(),
  column: z.int().optional(),
  inside: z
    .object({ line: z.int(), column: z.int() })
    .optional()
    .describe("Place within the text that the pointer names, such as a script."),
})

export const validatePipeline = defineOperation({
  name: "event_pipelines.validate",
  summary: "Compile a pipeline document and report all findings; nothing is saved.",
  http: { method: "POST", path: `${path}/validate` },
  access: { scope: "event_pipelines:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ document: AnyJson.describe("The document, as in create.") }),
  output: z.object({ ok: z.boolean(), digest: z.string().nullable(), findings: z.array(FindingWire) }),
  errors: ["invalid_argument"],
  examples: [{ input: { document } }],
  inject: { engine: PipelineEngine, pages: Pages, integrations: Integrations },
  async handle({ input, caller, deps }) {
    const compilation = await deps.engine.compile(input.document, caller.organization)
    const read = PipelineDocument.safeParse(input.document)
    const unpublished = read.success && (await unpublishedPage(deps.pages, caller.organization.id, read.data))
    const missing = read.success ? await missingConnections(deps.integrations, caller.organization.id, read.data) : []
    const findings = [
      ...compilation.findings,
      ...(unpublished ? [unpublished] : []),
      ...missing.map(({ connection: _, ...finding }) => finding),
    ]
    return {
      ok: compilation.ok,
      digest: compilation.ok ? compilation.graph.digest : null,
      findings: findings.map((finding) => ({ ...finding })),
    }
  },
})

export const testPipeline = defineOperation({
  name: "event_pipelines.test",
  summary: "Dry run: show what an event would write, send, broadcast and be answered, without any effect.",
  http: { method: "POST", path: `${path}/{slug}/test` },
  access: { scope: "event_pipelines:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({
    slug: SlugOrId,
    payload: AnyJson,
    headers: z.record(z.string(), z.string()).optional(),
    query: z.record(z.string(), z.string()).optional(),
  }),
  output: z.object({
    verdict: AnyJson,
    schema_errors: z.array(AnyJson),
    warnings: z.array(AnyJson).describe("Parts of the event that would be dropped."),
    logs: LogLines,
    transformed: AnyJson,
    steps: z.array(AnyJson),
    effects: z
      .object({ rows: z.array(AnyJson), sends: z.array(AnyJson), broadcasts: z.array(AnyJson), response: AnyJson })
      .describe("Effects that the event would have."),
  }),
  errors: ["invalid_argument", "not_found", "failed_precondition"],
  examples: [{ ...madePipeline, input: taken.given.event.input }],
  inject: { engine: PipelineEngine, source: PipelineSource },
  async handle({ input, caller, deps }) {
    const stored = await requirePipeline(deps.source, caller.organization.id, input.slug)
    const { headers, query, payload } = input
    const run = await deps.engine.dryRun(stored, { body: JSON.stringify(payload), ...(headers && { headers }), ...(query && { query }) })
    return {
      ...run,
      schema_errors: [...run.schema_errors],
      warnings: [...run.warnings],
      logs: [...run.logs],
      steps: [...run.steps],
      effects: {
        rows: [...run.effects.rows],
        sends: [...run.effects.sends],
        broadcasts: [...run.effects.broadcasts],
        response: run.effects.response as never,
      },
    }
  },
})

export const sendEvent = defineOperation({
  name: "event_pipelines.send_event",
  auditSize: ["payload"],
  summary: "Send an internal event to a pipeline: processed as an inbound one, without the auth mode.",
  http: { method: "POST", path: `${path}/{slug}/events` },
  access: { scope: "event_pipelines:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
  input: z.strictObject({ slug: SlugOrId, payload: AnyJson, is_test: z.boolean().default(false), force: Force }),
  output: z.object({
    execution_id: Uuid,
    status: z.enum(["accepted", "rejected", "failed"]),
    response: z.object({ status: z.int(), headers: z.record(z.string(), z.string()), body: AnyJson }),
  }),
  errors: ["invalid_argument", "not_found", "failed_precondition", "resource_exhausted", "permission_denied"],
  examples: [{ ...madePipeline, input: taken.given.event.input }],
  inject: { engine: PipelineEngine, source: PipelineSource },
  async handle({ input, caller, deps }) {
    refuseForce(input.force, caller)
    const stored = await requirePipeline(deps.source, caller.organization.id, input.slug)
    const { execution_id, status, reply } = await deps.engine.submit(stored, {
      payload: input.payload,
      isTest: input.is_test || caller.isTest === true,
      force: input.force,
    })
    return { execution_id, status, response: { status: reply.status, headers: { ...reply.headers }, body: reply.body } }
  },
})
