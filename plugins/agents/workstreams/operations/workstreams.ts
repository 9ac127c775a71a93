// Operations for workstreams: create, list, read, change, transition, and archive.
import { z } from "zod"
import {
  AppError,
  defineList,
  defineOperation,
  type FieldsOf,
  Ids,
  nextState,
  requireRevision,
  Slug,
  Store,
  slugOf,
  slugTaken,
  uniqueSlug,
} from "#core"
import { Threads } from "../../threads/index.ts"
import { PartCollection, type StoredWorkstream, WorkstreamCollection } from "../collections.ts"
import { createWorkstream } from "../create.ts"
import { ReadModel, shownWhole, wholeOf } from "../read-model.ts"
import { WorkstreamTemplates } from "../templates.ts"
import { type EventOf, namesOf, workstreamMachine } from "../transitions.ts"
import { actorOf, requirePerson, Workstreams } from "../workstreams.ts"
import {
  bySlug,
  ExpectedRevision,
  madeWorkstream,
  ofThatWorkstream,
  path,
  reading,
  ShortWords,
  shownWorkstream,
  WorkstreamResource,
  workstreamFields,
  writing,
} from "./resource.ts"

export const createWorkstreamOperation = defineOperation({
  name: "workstreams.create",
  summary: "Create a workstream, empty or from a template.",
  description: "It begins as `draft`, with a thread of its own. What is given wins over the template.",
  http: { method: "POST", path },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    title: workstreamFields.title.optional().describe("Needed without a template."),
    slug: Slug.optional().describe("Fixed; of the title where absent."),
    template: Slug.optional().describe("Slug of the template."),
    description: workstreamFields.description.optional(),
    autonomy_mode: workstreamFields.autonomy_mode.optional().describe("`supervised` unless given."),
    escalation_budget_per_day: workstreamFields.escalation_budget_per_day.optional().describe("10 unless given."),
    token_budget_millicents: workstreamFields.token_budget_millicents.optional().describe("0 unless given."),
    project_id: workstreamFields.project_id.default(null),
  }),
  output: ReadModel,
  errors: ["invalid_argument", "not_found", "already_exists", "permission_denied"],
  examples: [{ input: { title: "Autumn launch", token_budget_millicents: 500_000 } }],
  inject: { store: Store, ids: Ids, threads: Threads, workstreams: Workstreams },
  async handle({ input: { template: templateSlug, slug, ...fields }, caller, deps, work }) {
    const organization = caller.organization.id
    requirePerson(caller, fields.autonomy_mode)
    const template =
      templateSlug === undefined ? undefined : await WorkstreamTemplates.items.require(deps.store, organization, templateSlug)
    const title = fields.title ?? template?.title
    if (title === undefined) throw titleMissing()
    const workstreams = deps.store.open(WorkstreamCollection, organization)
    const isTaken = async (candidate: string) => (await workstreams.first({ slug: candidate })) !== undefined
    if (slug !== undefined && (await isTaken(slug)))
      throw slugTaken(`The organization has a workstream "${slug}" already; take another slug.`)
    const whole = createWorkstream(
      deps,
      work,
      organization,
      {
        id: deps.ids.uuid(),
        slug: slug ?? (await uniqueSlug(slugOf(title, "workstream"), isTaken)),
        title,
        description: fields.description ?? template?.description ?? "",
        autonomy_mode: fields.autonomy_mode ?? template?.autonomy_mode ?? "supervised",
        escalation_budget_per_day: fields.escalation_budget_per_day ?? template?.escalation_budget_per_day ?? 10,
        token_budget_millicents: fields.token_budget_millicents ?? template?.token_budget_millicents ?? 0,
        project_id: fields.project_id,
      },
      { template, actor: actorOf(caller), userId: caller.user?.id ?? null },
    )
    return shownWhole(whole, caller)
  },
  onConflict: async ({ error }) => error,
})

export const listWorkstreams = defineList({
  name: "workstreams.list",
  summary: "List workstreams, newest first.",
  path,
  access: reading,
  columns: ["slug", "title", "status", "spent_millicents", "updated_at"],
  input: { status: z.enum(namesOf(workstreamMachine.states)).optional() },
  collection: WorkstreamCollection,
  items: { workstreams: WorkstreamResource },
  view: shownWorkstream,
})

export const getWorkstream = defineOperation({
  name: "workstreams.get",
  summary: "Read a workstream with its assignments, decisions, events, phases and resources.",
  http: { method: "GET", path: `${path}/{slug}` },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject(bySlug),
  output: ReadModel,
  errors: ["not_found"],
  examples: [{ given: madeWorkstream, input: ofThatWorkstream }],
  inject: { store: Store, workstreams: Workstreams },
  async handle({ input, caller, deps }) {
    const organization = caller.organization.id
    return shownWhole(await wholeOf(deps.store, organization, await deps.workstreams.require(organization, input.slug)), caller)
  },
})

export const updateWorkstream = defineOperation({
  name: "workstreams.update",
  summary: "Change a workstream: only the fields that are given.",
  http: { method: "PATCH", path: `${path}/{slug}` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    ...bySlug,
    title: workstreamFields.title.optional(),
    description: workstreamFields.description.optional(),
    autonomy_mode: workstreamFields.autonomy_mode.optional(),
    escalation_budget_per_day: workstreamFields.escalation_budget_per_day.optional(),
    token_budget_millicents: workstreamFields.token_budget_millicents.optional(),
    project_id: workstreamFields.project_id.optional(),
    expected_revision: ExpectedRevision,
  }),
  output: ReadModel,
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted", "permission_denied"],
  examples: [
    {
      given: madeWorkstream,
      input: { ...ofThatWorkstream, title: "Winter launch", token_budget_millicents: 900_000, expected_revision: 1 },
    },
  ],
  inject: { store: Store, workstreams: Workstreams },
  async handle({ input: { slug, expected_revision, ...fields }, caller, deps, work }) {
    const organization = caller.organization.id
    const workstream = await deps.workstreams.open(organization, slug)
    requireRevision("workstream", workstream.revision, expected_revision)
    const changed = Object.entries(fields).filter(
      ([name, value]) => value !== undefined && value !== workstream[name as keyof StoredWorkstream],
    )
    if (changed.length === 0) return shownWhole(await wholeOf(deps.store, organization, workstream), caller)
    const change = Object.fromEntries(changed) as Partial<FieldsOf<StoredWorkstream>>
    requirePerson(caller, fields.autonomy_mode)
    const body = `Changed ${changed.map(([name]) => name).join(", ")}.`
    const updated = deps.workstreams.update(work, organization, workstream, change, { actor: actorOf(caller), event: "updated", body })
    return shownWhole(await wholeOf(deps.store, organization, updated.workstream, [updated.event]), caller)
  },
  onConflict: async ({ error }) => error,
})

export const transitionWorkstream = defineOperation({
  name: "workstreams.transition",
  summary: "Start, pause, resume, complete or reopen a workstream.",
  http: { method: "POST", path: `${path}/{slug}/transitions` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: false },
  input: z.strictObject({
    ...bySlug,
    event: z.enum(namesOf(workstreamMachine.events)).exclude(["archive"]),
    reason: ShortWords.default(""),
    expected_revision: ExpectedRevision,
  }),
  output: ReadModel,
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted"],
  examples: [{ given: madeWorkstream, input: { ...ofThatWorkstream, event: "start", expected_revision: 1 } }],
  inject: { store: Store, workstreams: Workstreams },
  async handle({ input: { slug, event, reason, expected_revision }, caller, deps, work }) {
    const moved = await move(deps, caller.organization.id, slug, { event, reason, expected_revision, actor: actorOf(caller) }, work)
    return shownWhole(moved, caller)
  },
  onConflict: async ({ error }) => error,
})

export const archiveWorkstream = defineOperation({
  name: "workstreams.archive",
  summary: "Archive a workstream: it is kept, and changed no more.",
  http: { method: "POST", path: `${path}/{slug}/archive` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: false },
  input: z.strictObject({ ...bySlug, reason: ShortWords.default("") }),
  output: ReadModel,
  errors: ["not_found", "failed_precondition", "aborted"],
  examples: [{ given: madeWorkstream, input: ofThatWorkstream }],
  inject: { store: Store, workstreams: Workstreams },
  async handle({ input: { slug, reason }, caller, deps, work }) {
    const moved = await move(deps, caller.organization.id, slug, { event: "archive", reason, actor: actorOf(caller) }, work)
    return shownWhole(moved, caller)
  },
  onConflict: async ({ error }) => error,
})

interface Move {
  readonly event: EventOf<typeof workstreamMachine>
  readonly reason: string
  readonly expected_revision?: number | undefined
  readonly actor: ReturnType<typeof actorOf>
}

async function move(
  { store, workstreams }: { readonly store: Store; readonly workstreams: Workstreams },
  organization: string,
  slug: string,
  { event, reason, expected_revision, actor }: Move,
  work: Parameters<Workstreams["update"]>[0],
) {
  const workstream = await workstreams.require(organization, slug)
  requireRevision("workstream", workstream.revision, expected_revision)
  const open = { workstream_id: workstream.id, kind: "assignment", work_state: { $nin: ["done", "canceled"] } }
  const isSettled = (await store.open(PartCollection, organization).count(open, { limit: 1 })) === 0
  const status = nextState(workstreamMachine, workstream.status, event, { settled: isSettled })
  const at = workstreams.now()
  const change = {
    status,
    ...(event === "start" ? { started_at: at } : {}),
    ...(event === "complete" ? { completed_at: at } : event === "reopen" ? { completed_at: null } : {}),
  }
  const body = `${event}: ${workstream.status} → ${status}.${reason === "" ? "" : ` ${reason}`}`
  const moved = workstreams.update(work, organization, workstream, change, { actor, event: "moved", body, data: { status } })
  return await wholeOf(store, organization, moved.workstream, [moved.event])
}

function titleMissing(): AppError {
  const message = "needed without a template"
  return new AppError("invalid_argument", `title: ${message}.`, { reason: "invalid_fields", fields: [{ path: "title", message }] })
}
