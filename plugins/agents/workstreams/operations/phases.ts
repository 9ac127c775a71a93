// Operations for the phases of a workstream.
import { z } from "zod"
import { defineList, defineOperation, Name, nextState, requireRevision, resultOf, Uuid } from "#core"
import { Threads } from "../../threads/index.ts"
import { PartCollection, type StoredPhase } from "../collections.ts"
import { newPhase } from "../create.ts"
import { namesOf, phaseMachine } from "../transitions.ts"
import { actorOf, Workstreams } from "../workstreams.ts"
import {
  bySlug,
  ExpectedRevision,
  madeWorkstream,
  ofThatWorkstream,
  PartRef,
  PartSlug,
  PhaseResource,
  path,
  reading,
  ShortWords,
  shownPhase,
  writing,
} from "./resource.ts"

const madePhase = {
  given: {
    ...madeWorkstream,
    phase: { operation: "workstreams.add_phase", input: { ...ofThatWorkstream, phase: "draft", title: "Draft" } },
  },
  input: { ...ofThatWorkstream, phase: resultOf("phase.slug") },
}

export const addPhase = defineOperation({
  name: "workstreams.add_phase",
  summary: "Add a phase to a workstream.",
  http: { method: "POST", path: `${path}/{slug}/phases` },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    ...bySlug,
    phase: PartSlug,
    title: Name,
    skill_slug: ShortWords.default(""),
    sort_order: z.int().min(0).max(1e6).default(0),
    thread_id: Uuid.nullable().default(null).describe("Of a thread of the organization."),
  }),
  output: PhaseResource,
  errors: ["invalid_argument", "not_found", "already_exists", "failed_precondition", "aborted"],
  examples: [{ given: madeWorkstream, input: { ...ofThatWorkstream, phase: "review", title: "Review" } }],
  inject: { workstreams: Workstreams, threads: Threads },
  async handle({ input: { slug, phase, ...fields }, caller, deps, work }) {
    const organization = caller.organization.id
    const workstream = await deps.workstreams.open(organization, slug)
    if (fields.thread_id !== null) await deps.threads.require(organization, fields.thread_id)
    await deps.workstreams.requireRoom(organization, workstream, "phase", phase)
    const added = newPhase(deps.workstreams, workstream, { slug: phase, ...fields })
    const body = `Phase "${added.title}" added.`
    deps.workstreams.add(work, organization, workstream, added, { actor: actorOf(caller), event: "phase_added", body, data: { phase } })
    return shownPhase(added)
  },
  onConflict: async ({ error }) => error,
})

export const listPhases = defineList({
  name: "workstreams.list_phases",
  summary: "List the phases of a workstream, in their order.",
  path: `${path}/{slug}/phases`,
  access: reading,
  columns: ["sort_order", "slug", "title", "status"],
  input: { ...bySlug, status: z.enum(namesOf(phaseMachine.states)).optional() },
  examples: [{ given: madeWorkstream, input: ofThatWorkstream }],
  inject: { workstreams: Workstreams },
  collection: PartCollection,
  where: async ({ slug, ...filter }, { organization, deps }) => ({
    workstream_id: (await deps.workstreams.require(organization, slug)).id,
    kind: "phase",
    ...filter,
  }),
  sort: { sort_order: 1, id: 1 },
  items: { phases: PhaseResource },
  view: (part) => shownPhase(part as StoredPhase),
})

export const getPhase = defineOperation({
  name: "workstreams.get_phase",
  summary: "Read a phase of a workstream.",
  http: { method: "GET", path: `${path}/{slug}/phases/{phase}` },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ ...bySlug, phase: PartRef }),
  output: PhaseResource,
  errors: ["not_found"],
  examples: [madePhase],
  inject: { workstreams: Workstreams },
  async handle({ input: { slug, phase }, caller, deps }) {
    const organization = caller.organization.id
    const workstream = await deps.workstreams.require(organization, slug)
    return shownPhase(await deps.workstreams.part(organization, workstream, "phase", phase))
  },
})

export const updatePhase = defineOperation({
  name: "workstreams.update_phase",
  summary: "Change a phase: only the fields that are given.",
  http: { method: "PATCH", path: `${path}/{slug}/phases/{phase}` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    ...bySlug,
    phase: PartRef,
    title: Name.optional(),
    skill_slug: ShortWords.optional(),
    sort_order: z.int().min(0).max(1e6).optional(),
    thread_id: Uuid.nullable().optional(),
    expected_revision: ExpectedRevision,
  }),
  output: PhaseResource,
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted"],
  examples: [{ ...madePhase, input: { ...madePhase.input, title: "First draft", expected_revision: 1 } }],
  inject: { workstreams: Workstreams, threads: Threads },
  async handle({ input: { slug, phase: ref, expected_revision, ...fields }, caller, deps, work }) {
    const organization = caller.organization.id
    const workstream = await deps.workstreams.open(organization, slug)
    const phase = await deps.workstreams.part(organization, workstream, "phase", ref)
    requireRevision("phase", phase.revision, expected_revision)
    if (fields.thread_id) await deps.threads.require(organization, fields.thread_id)
    const change = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
    if (Object.keys(change).length === 0) return shownPhase(phase)
    const body = `Phase "${phase.title}" changed.`
    const news = { actor: actorOf(caller), event: "phase_changed", body, data: { phase: phase.slug } }
    return shownPhase(deps.workstreams.change(work, organization, workstream, phase, change, news))
  },
  onConflict: async ({ error }) => error,
})

export const movePhase = defineOperation({
  name: "workstreams.move_phase",
  summary: "Start, complete, skip or reopen a phase.",
  http: { method: "POST", path: `${path}/{slug}/phases/{phase}/transitions` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: false },
  input: z.strictObject({ ...bySlug, phase: PartRef, event: z.enum(namesOf(phaseMachine.events)) }),
  output: PhaseResource,
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted"],
  examples: [{ ...madePhase, input: { ...madePhase.input, event: "start" } }],
  inject: { workstreams: Workstreams },
  async handle({ input: { slug, phase: ref, event }, caller, deps, work }) {
    const organization = caller.organization.id
    const workstream = await deps.workstreams.open(organization, slug)
    const phase = await deps.workstreams.part(organization, workstream, "phase", ref)
    const status = nextState(phaseMachine, phase.status, event, {})
    const at = deps.workstreams.now()
    const change = {
      status,
      ...(status === "in_progress" ? { started_at: phase.started_at ?? at, completed_at: null } : {}),
      ...(status === "completed" ? { completed_at: at } : {}),
    }
    const body = `Phase "${phase.title}": ${phase.status} → ${status}.`
    const news = { actor: actorOf(caller), event: "phase_moved", body, data: { phase: phase.slug, status } }
    return shownPhase(deps.workstreams.change(work, organization, workstream, phase, change, news))
  },
  onConflict: async ({ error }) => error,
})
