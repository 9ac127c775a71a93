// Templates of workstreams. A workstream keeps its content when its template changes.
import { z } from "zod"
import { AppError, defineResource, type ItemOf, slugFrom } from "#core"
import { PartSlug, ShortWords, Words, workstreamFields } from "./operations/resource.ts"
import { requirePerson } from "./workstreams.ts"

const Phase = z.strictObject({ slug: PartSlug, title: ShortWords.min(1), skill_slug: ShortWords.default("") })
const Assignment = z.strictObject({
  slug: PartSlug,
  objective: Words.min(1),
  acceptance_criteria: Words.default(""),
  expected_result_kind: ShortWords.default(""),
  assigned_agent_key: z.string().max(100).default("").describe("Key of an agent; empty: nobody is responsible yet."),
  phase_slug: z.string().max(100).default("").describe("Slug of a phase of the template; empty: none."),
})
const { project_id: _project, ...ofWorkstream } = workstreamFields

export const WorkstreamTemplates = defineResource()({
  name: "workstream_template",
  plural: "workstream_templates",
  word: "template",
  title: "WorkstreamTemplate",
  path: "/v1/workstream-templates",
  collection: { name: "workstream_templates", indexes: [{ fields: ["-id"] }] },
  access: {
    read: { scope: "workstream_templates:read", role: "member" },
    write: { scope: "workstream_templates:write", role: "admin" },
  },
  key: slugFrom("title"),
  fields: { ...ofWorkstream, phases: z.array(Phase).max(100), assignments: z.array(Assignment).max(200) },
  defaults: {
    description: "",
    autonomy_mode: "supervised",
    escalation_budget_per_day: 10,
    token_budget_millicents: 0,
    phases: [],
    assignments: [],
  },
  columns: ["slug", "title", "updated_at"],
  examples: [
    {
      input: {
        title: "Campaign launch",
        phases: [{ slug: "draft", title: "Draft" }],
        assignments: [{ slug: "copy", objective: "Write the copy.", phase_slug: "draft" }],
      },
    },
  ],
  change: { title: "Launch of a campaign" },
  verbs: {
    create: { summary: "Create a template of workstreams.", errors: ["permission_denied"] },
    list: { summary: "List the templates of workstreams, newest first." },
    get: { summary: "Read a template of workstreams." },
    update: { summary: "Change a template: only the given fields. A given list replaces the whole list.", errors: ["permission_denied"] },
    delete: { summary: "Delete a template. Workstreams made from it stay." },
  },
  check(template, { caller, change }) {
    requirePerson(caller, change.autonomy_mode)
    requireSound(template)
  },
})

export type StoredTemplate = ItemOf<typeof WorkstreamTemplates>

interface Soundness {
  readonly phases: readonly { readonly slug: string }[]
  readonly assignments: readonly { readonly slug: string; readonly phase_slug: string }[]
}

/** Throws `invalid_argument` for a duplicate slug, and for an unknown phase. */
function requireSound({ phases, assignments }: Soundness): void {
  const slugs = new Set(phases.map(({ slug }) => slug))
  const unknown = assignments.flatMap(({ phase_slug }, index) =>
    phase_slug === "" || slugs.has(phase_slug)
      ? []
      : [{ path: `assignments.${index}.phase_slug`, message: `the template has no phase ${phase_slug}` }],
  )
  const fields = [...twice("phases", phases), ...twice("assignments", assignments), ...unknown]
  if (fields.length === 0) return
  const message = fields.map(({ path, message: problem }) => `${path}: ${problem}`).join("; ")
  throw new AppError("invalid_argument", message, { reason: "unknown_template_phase", fields })
}

function twice(field: string, items: readonly { readonly slug: string }[]) {
  const slugs = new Set<string>()
  return items.flatMap(({ slug }, index) => {
    if (!slugs.has(slug)) return slugs.add(slug) && []
    return [{ path: `${field}.${index}.slug`, message: `${slug} occurs twice` }]
  })
}
