// Templates of workstreams: created, listed, read, changed and deleted. What was made of one stays as it is.
import { z } from "zod"
import {
  Clock,
  defineList,
  defineOperation,
  Ids,
  requireRevision,
  resultOf,
  Slug,
  SlugOrId,
  slugOf,
  slugTaken,
  stageRevision,
  Timestamp,
  timestamp,
  Uuid,
  uniqueSlug,
} from "#core"
import { autonomyModes, type StoredTemplate, TemplateCollection } from "../collections.ts"
import { requireSound, TemplatesToken } from "../templates.ts"
import { requirePerson } from "../workstreams.ts"
import { ExpectedRevision, PartSlug, ShortWords, Words } from "./resource.ts"
import { workstreamFields } from "./workstreams.ts"

const path = "/v1/workstream-templates"
const reading = { scope: "workstream_templates:read", role: "member" } as const
const writing = { scope: "workstream_templates:write", role: "admin" } as const
const bySlug = { slug: SlugOrId.describe("Slug or UUID of the template.") }
const made = { given: { template: "workstream_templates.create" }, input: { slug: resultOf("template.slug") } }

const Phase = z.strictObject({ slug: PartSlug, title: ShortWords.min(1), skill_slug: ShortWords.default("") })
const Assignment = z.strictObject({
  slug: PartSlug,
  objective: Words.min(1),
  acceptance_criteria: Words.default(""),
  expected_result_kind: ShortWords.default(""),
  assigned_agent_key: z.string().max(100).default("").describe("Key of an agent; empty: nobody is responsible yet."),
  phase_slug: z.string().max(100).default("").describe("One of the template's phases; empty: none."),
})
const { project_id: _project, ...ofWorkstream } = workstreamFields
const fields = { ...ofWorkstream, phases: z.array(Phase).max(100), assignments: z.array(Assignment).max(200) }

const Template = z
  .object({
    id: Uuid,
    slug: z.string(),
    title: z.string(),
    description: z.string(),
    autonomy_mode: z.enum(autonomyModes),
    escalation_budget_per_day: z.int(),
    token_budget_millicents: z.int(),
    phases: z.array(Phase.loose()),
    assignments: z.array(Assignment.loose()),
    revision: z.int(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "WorkstreamTemplate" })

const shown = ({ organization_id: _organization, ...template }: StoredTemplate) => template

export const createTemplate = defineOperation({
  name: "workstream_templates.create",
  summary: "Create a template that workstreams can be made from.",
  http: { method: "POST", path },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    slug: Slug.optional().describe("Of the title where absent."),
    title: fields.title,
    description: fields.description.default(""),
    autonomy_mode: fields.autonomy_mode.default("supervised"),
    escalation_budget_per_day: fields.escalation_budget_per_day.default(10),
    token_budget_millicents: fields.token_budget_millicents.default(0),
    phases: fields.phases.default([]),
    assignments: fields.assignments.default([]),
  }),
  output: Template,
  errors: ["invalid_argument", "already_exists", "permission_denied"],
  examples: [
    {
      input: {
        title: "Campaign launch",
        phases: [{ slug: "draft", title: "Draft" }],
        assignments: [{ slug: "copy", objective: "Write the copy.", phase_slug: "draft" }],
      },
    },
  ],
  inject: { ids: Ids, clock: Clock, templates: TemplatesToken },
  async handle({ input: { slug, ...given }, caller, deps, work }) {
    const organization = caller.organization.id
    requirePerson(caller, given.autonomy_mode)
    requireSound(given)
    const isTaken = (one: string) => deps.templates.isTaken(organization, one)
    if (slug !== undefined && (await isTaken(slug))) throw slugTaken(`A template has the slug "${slug}" already; take another.`)
    const at = timestamp(deps.clock.now())
    const template: StoredTemplate = {
      ...given,
      id: deps.ids.uuid(),
      slug: slug ?? (await uniqueSlug(slugOf(given.title, "template"), isTaken)),
      revision: 1,
      created_at: at,
      updated_at: at,
    }
    work.in(TemplateCollection, organization).insert(template)
    return shown(template)
  },
  onConflict: async ({ error }) => error,
})

export const listTemplates = defineList({
  name: "workstream_templates.list",
  summary: "List the templates of workstreams, newest first.",
  path,
  access: reading,
  columns: ["slug", "title", "updated_at"],
  collection: TemplateCollection,
  items: { workstream_templates: Template },
  view: shown,
})

export const getTemplate = defineOperation({
  name: "workstream_templates.get",
  summary: "Read a template of workstreams.",
  http: { method: "GET", path: `${path}/{slug}` },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject(bySlug),
  output: Template,
  errors: ["not_found"],
  examples: [made],
  inject: { templates: TemplatesToken },
  handle: async ({ input, caller, deps }) => shown(await deps.templates.require(caller.organization.id, input.slug)),
})

export const updateTemplate = defineOperation({
  name: "workstream_templates.update",
  summary: "Change a template: only the fields that are given; lists are replaced whole.",
  http: { method: "PATCH", path: `${path}/{slug}` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    ...bySlug,
    title: fields.title.optional(),
    description: fields.description.optional(),
    autonomy_mode: fields.autonomy_mode.optional(),
    escalation_budget_per_day: fields.escalation_budget_per_day.optional(),
    token_budget_millicents: fields.token_budget_millicents.optional(),
    phases: fields.phases.optional(),
    assignments: fields.assignments.optional(),
    expected_revision: ExpectedRevision,
  }),
  output: Template,
  errors: ["invalid_argument", "not_found", "aborted", "permission_denied"],
  examples: [{ ...made, input: { ...made.input, title: "Launch of a campaign", expected_revision: 1 } }],
  inject: { clock: Clock, templates: TemplatesToken },
  async handle({ input: { slug, expected_revision, ...given }, caller, deps, work }) {
    const organization = caller.organization.id
    requirePerson(caller, given.autonomy_mode)
    const template = await deps.templates.require(organization, slug)
    requireRevision("template", template.revision, expected_revision)
    const updated = stageRevision(work.in(TemplateCollection, organization), template, given, deps.clock.now())
    requireSound(updated)
    return shown(updated)
  },
})

export const deleteTemplate = defineOperation({
  name: "workstream_templates.delete",
  summary: "Delete a template; workstreams that were made from it stay.",
  http: { method: "DELETE", path: `${path}/{slug}` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject(bySlug),
  output: z.object({ id: Uuid, deleted: z.literal(true) }),
  errors: ["not_found"],
  examples: [made],
  inject: { templates: TemplatesToken },
  async handle({ input, caller, deps, work }) {
    const { id } = await deps.templates.require(caller.organization.id, input.slug)
    work.in(TemplateCollection, caller.organization.id).remove(id, { optional: true })
    return { id, deleted: true as const }
  },
})
