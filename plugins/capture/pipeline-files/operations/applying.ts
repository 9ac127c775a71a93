// Plans and applies a set of documents from a repository, in one commit.
import { z } from "zod"
import { type Caller, callerKind, defineOperation, roleAtLeast, Store } from "#core"
import { PipelineEngine } from "#core/engine"
import { EventPipelines } from "../../pipelines/index.ts"
import { changedMeanwhile, rehearse, stagePlan } from "../apply/apply.ts"
import { GivenDocument } from "../apply/given.ts"
import { PlanNotes, type Planned, PlannedChange, plan } from "../apply/plan.ts"

const path = "/v1/event-pipelines"
const inject = { store: Store, notes: PlanNotes, engine: PipelineEngine, pipelines: EventPipelines }

const input = {
  documents: z.array(GivenDocument).max(1_000),
  complete: z
    .boolean()
    .default(false)
    .describe("Whether these are all documents: pipelines applied from other documents before are disabled."),
}
const Plan = z.object({
  changes: z.array(PlannedChange),
  blocked: z.boolean().describe("Whether a document is refused, or an apply needs `force`."),
})

const document = {
  name: "Website lead",
  slug: "website-lead",
  state: "active",
  source_kind: "browser_form",
  auth_mode: "none",
  pipeline: [{ id: "save", type: "dataset.write", dataset_slug: "leads", key: "email" }],
}

const given = { input: { documents: [{ path: "pipelines/website-lead.yaml", document }] } }

export const planPipelines = defineOperation({
  name: "event_pipelines.plan",
  summary: "Plan an apply: which pipelines it would create, change and disable, and which were changed on the server since.",
  http: { method: "POST", path: `${path}/plan` },
  access: { scope: "event_pipelines:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject(input),
  output: Plan,
  errors: ["invalid_argument"],
  examples: [given],
  inject,
  async handle({ input, caller, deps }) {
    const planned = await plan({ ...whose(caller), ...input }, { ...deps, secrets: deps.pipelines.secrets })
    return shown(await rehearse({ organization: caller.organization, byAgent: callerKind(caller) === "agent" }, planned, deps.pipelines))
  },
})

export const applyPipelines = defineOperation({
  name: "event_pipelines.apply",
  summary: "Create and change pipelines as in the documents, all or none.",
  description:
    "It fails if a pipeline was changed on the server since the last apply, or a step names a missing or private integration, unless forced. Applying the same documents again changes nothing.",
  http: { method: "POST", path: `${path}/apply` },
  access: { scope: "event_pipelines:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    ...input,
    force: z
      .boolean()
      .default(false)
      .describe("Overwrite changes made on the server, and activate steps whose integration is missing or private."),
  }),
  output: Plan,
  errors: ["invalid_argument", "permission_denied", "failed_precondition", "aborted"],
  examples: [given],
  inject,
  async handle({ input: { force, ...documents }, caller, deps, work }) {
    const planned = await plan({ ...whose(caller), ...documents }, { ...deps, secrets: deps.pipelines.secrets })
    const warnings = await stagePlan(
      { organization: caller.organization, planned, force, byAgent: callerKind(caller) === "agent" },
      deps.pipelines,
      work,
    )
    const { changes } = shown(planned)
    return { changes: changes.map((change) => ({ ...change, warnings: warnings.get(change.slug) ?? change.warnings })), blocked: false }
  },
  onConflict: ({ error, caller, deps }) => changedMeanwhile(error, caller.organization, deps.pipelines),
})

function whose(caller: Caller) {
  return { organization: caller.organization, mayRotate: roleAtLeast(caller.role, "admin") }
}

function shown(planned: readonly Planned[]): z.infer<typeof Plan> {
  const changes = planned.map(({ change }) => change)
  const blocked = changes.some(
    ({ action, drift, needs_force }) => action === "refused" || needs_force.length > 0 || (drift !== null && action !== "unchanged"),
  )
  return { changes, blocked }
}
