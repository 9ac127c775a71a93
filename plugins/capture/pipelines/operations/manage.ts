// Creates, reads, changes and lists event pipelines.
import { z } from "zod"
import { AnyJson, AppError, callerKind, defineOperation, omitReadOnly, pageInput, readOnlyInput, resultOf, Slug, SlugOrId } from "#core"
import { PipelineDocument, PipelineState, Purpose, SourceKind } from "#core/engine"
import { EventPipelines } from "../pipelines.ts"
import { requirePersonToEnable } from "../reserved.ts"
import { changeFields, createFields, EventPipeline, readOnlyFields, Secret, toWire, Warnings } from "../wire.ts"
import { madePipeline } from "./examples.ts"

const path = "/v1/event-pipelines"
const inject = { pipelines: EventPipelines }

const ForceActivation = z.boolean().default(false).describe("Activate it even if a step names a missing or private integration.")

const SavedPipeline = EventPipeline.extend({
  created_datasets: z.array(z.string()).describe("Datasets created by this save."),
  warnings: Warnings,
})

export const createPipeline = defineOperation({
  name: "event_pipelines.create",
  summary: "Create an event pipeline.",
  description:
    "The document is compiled first: errors refuse the save with every finding, warnings are returned with the pipeline. The secret of an auth mode with a secret is shown once.",
  http: { method: "POST", path },
  access: { scope: "event_pipelines:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  mcp: { listed: true },
  input: z.strictObject({ slug: Slug.optional(), ...createFields, force: ForceActivation }),
  output: SavedPipeline.extend({ secret: Secret }),
  errors: ["invalid_argument", "permission_denied", "already_exists", "failed_precondition"],
  examples: [
    {
      input: {
        name: "Website lead",
        state: "active",
        source_kind: "browser_form",
        auth_mode: "authenticated_viewer",
        auth_config: { audience: "public_and_viewers" },
        request_schema: { type: "object", required: ["email"], properties: { email: { type: "string", format: "email" } } },
        transform_js: "function transform(event) { return { ...event, email: event.email.toLowerCase() } }",
        pipeline: [{ id: "save", type: "dataset.write", dataset_slug: "leads", key: "email" }],
      },
    },
    {
      title: "A webhook whose sender signs",
      input: { name: "Orders", source_kind: "third_party_webhook", auth_mode: "hmac_sha256", pipeline: [] },
    },
  ],
  secretOutput: ["secret"],
  inject,
  async handle({ input: { force, ...input }, caller, deps, work }) {
    const saved = await deps.pipelines.create(caller.organization, PipelineDocument.parse(input), work, null, undefined, {
      byAgent: callerKind(caller) === "agent",
      force,
    })
    const { record, created_datasets, warnings, secret } = saved
    return { ...toWire(record, deps.pipelines.publicUrl), created_datasets, warnings, ...(secret === undefined ? {} : { secret }) }
  },
})

export const updatePipeline = defineOperation({
  name: "event_pipelines.update",
  summary: "Change an event pipeline; the inbound source and auth are fixed at creation.",
  http: { method: "PUT", path: `${path}/{slug}` },
  access: { scope: "event_pipelines:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  mcp: { listed: true },
  description: "Accepts the output of a read: read-only fields may be sent back unchanged.",
  input: z.strictObject({
    slug: SlugOrId,
    expected_revision: z.int().min(1).optional(),
    ...changeFields,
    force: ForceActivation,
    ...readOnlyInput(readOnlyFields),
    warnings: AnyJson.optional().describe("Of a read; ignored."),
  }),
  output: SavedPipeline,
  errors: ["invalid_argument", "permission_denied", "not_found", "failed_precondition", "aborted"],
  examples: [{ ...madePipeline, input: { ...madePipeline.input, state: "disabled", expected_revision: resultOf("pipeline.revision") } }],
  inject,
  async handle({ input, caller, deps, work }) {
    const { slug, expected_revision, warnings: _, force, ...fields } = input
    const stored = await deps.pipelines.get(caller.organization.id, slug)
    requirePersonToEnable(caller, stored, fields.state)
    const shown = toWire(stored, deps.pipelines.publicUrl)
    const changes = omitReadOnly(fields, shown, readOnlyFields)
    const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)) as Partial<PipelineDocument>
    if (Object.keys(given).length === 0)
      throw new AppError("invalid_argument", "Nothing to change: give at least one field.", { reason: "no_fields" })
    const { record, created_datasets, warnings } = await deps.pipelines.update(
      caller.organization,
      slug,
      given,
      work,
      expected_revision,
      undefined,
      { byAgent: callerKind(caller) === "agent", force },
    )
    return { ...toWire(record, deps.pipelines.publicUrl), created_datasets, warnings }
  },
})

export const getPipeline = defineOperation({
  name: "event_pipelines.get",
  summary: "Read one event pipeline.",
  http: { method: "GET", path: `${path}/{slug}` },
  access: { scope: "event_pipelines:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  mcp: { listed: true },
  input: z.strictObject({ slug: SlugOrId }),
  output: EventPipeline.extend({
    warnings: z.array(z.string()).describe("Of what it depends on: a page that is not published, connections that are missing or fail."),
  }),
  errors: ["not_found"],
  examples: [madePipeline],
  resource: { uri: "millrace://event-pipelines/{slug}" },
  inject,
  async handle({ input, caller, deps }) {
    const record = await deps.pipelines.get(caller.organization.id, input.slug)
    const warnings = await deps.pipelines.dependencyWarnings(caller.organization.id, record)
    return { ...toWire(record, deps.pipelines.publicUrl), warnings }
  },
})

export const listPipelines = defineOperation({
  name: "event_pipelines.list",
  summary: "List event pipelines, newest first.",
  http: { method: "GET", path },
  access: { scope: "event_pipelines:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  mcp: { listed: true },
  columns: ["slug", "state", "purpose", "source_kind", "auth_mode", "updated_at", "write_target_datasets", "inbound_url"],
  input: z.strictObject({ purpose: Purpose.optional(), state: PipelineState.optional(), source_kind: SourceKind.optional(), ...pageInput }),
  output: z.object({ event_pipelines: z.array(EventPipeline), next_cursor: z.string() }),
  errors: ["invalid_argument"],
  resource: {
    uri: "millrace://event-pipelines",
    items: { field: "event_pipelines", uri: "millrace://event-pipelines/{slug}", title: "name" },
  },
  inject,
  async handle({ input, caller, deps }) {
    const { items, next_cursor } = await deps.pipelines.list(caller.organization.id, input)
    return { event_pipelines: items.map((record) => toWire(record, deps.pipelines.publicUrl)), next_cursor }
  },
})

export const rotateSecret = defineOperation({
  name: "event_pipelines.rotate_secret",
  summary: "Rotate the verification secret: create a new one and expire the old one.",
  description:
    "The old secret expires at once, on every node, unless `overlap` is given. For providers that issue the secret themselves, pass it as `secret`.",
  http: { method: "POST", path: `${path}/{slug}/rotate-secret` },
  access: { scope: "event_pipelines:write", role: "admin" },
  hints: { readOnly: false, destructive: true, idempotent: false },
  mcp: { listed: true },
  input: z.strictObject({
    slug: SlugOrId,
    secret: z.string().min(1).max(8_192).optional(),
    overlap: z.enum(["1h", "24h", "7d"]).optional().describe("Time until the old secret expires."),
  }),
  output: EventPipeline.extend({ secret: Secret }),
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted"],
  examples: [
    {
      given: { pipeline: { operation: "event_pipelines.create", input: { name: "Orders" } } },
      input: { slug: resultOf("pipeline.slug"), overlap: "24h" },
    },
  ],
  secretOutput: ["secret"],
  inject,
  async handle({ input, caller, deps, work }) {
    const { record, secret } = await deps.pipelines.rotateSecret(
      caller.organization.id,
      input.slug,
      { ...input, byAgent: callerKind(caller) === "agent" },
      work,
    )
    return { ...toWire(record, deps.pipelines.publicUrl), ...(secret === undefined ? {} : { secret }) }
  },
})
