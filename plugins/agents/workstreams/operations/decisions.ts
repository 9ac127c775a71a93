// Operations for decisions of a workstream: propose, authorize or reject, execute, and supersede.
import { z } from "zod"
import { AppError, type Caller, defineList, defineOperation, isPerson, nextState, resultOf, Store, type UnitOfWork, Uuid } from "#core"
import { Gatekeeper } from "#core/engine"
import { PartCollection, type StoredDecision, type StoredWorkstream } from "../collections.ts"
import { decisionExecutionMachine, decisionMachine, namesOf, outcomeMachine } from "../transitions.ts"
import { actorOf, mayDecide, Workstreams } from "../workstreams.ts"
import { refsBeside } from "./refs-beside.ts"
import {
  bySlug,
  DecisionResource,
  madeWorkstream,
  ofThatWorkstream,
  PartRef,
  PartSlug,
  path,
  reading,
  ShortWords,
  shownDecision,
  Words,
  writing,
} from "./resource.ts"

const ofDecision = `${path}/{slug}/decisions/{decision}`
const byDecision = { ...bySlug, decision: PartRef }
const proposal = { ...ofThatWorkstream, decision: "channel", what: "Advertise in print.", why: "The audience reads it." }
const proposed = {
  given: { ...madeWorkstream, decision: { operation: "workstreams.propose_decision", input: proposal } },
  input: { ...ofThatWorkstream, decision: resultOf("decision.slug") },
}
/** In an autonomous workstream agents may decide as well. */
const autonomous = { operation: "workstreams.create", input: { title: "Autumn launch", autonomy_mode: "autonomous" } }

export const proposeDecision = defineOperation({
  name: "workstreams.propose_decision",
  summary: "Propose a decision; it does not stand until it is authorized.",
  http: { method: "POST", path: `${path}/{slug}/decisions` },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    ...bySlug,
    decision: PartSlug,
    what: Words.min(1),
    why: Words.default(""),
    applicability: ShortWords.default("").describe("Where and for how long it holds."),
    approval_id: Uuid.nullable().default(null).describe("Of an approval that has to be granted first (GET /v1/approvals)."),
    decision_class: ShortWords.default(""),
    evidence_kind: ShortWords.default(""),
    source: ShortWords.default(""),
    subject_kind: ShortWords.default(""),
    subject_label: ShortWords.default(""),
    supersedes_decision_slug: z
      .string()
      .max(100)
      .default("")
      .describe("The decision in whose place it stands once it is authorized; empty: none."),
  }),
  output: DecisionResource,
  errors: ["invalid_argument", "not_found", "already_exists", "failed_precondition", "aborted"],
  examples: [{ given: madeWorkstream, input: proposal }],
  inject: { workstreams: Workstreams, gatekeeper: Gatekeeper },
  async handle({ input: { slug, decision: decisionSlug, ...fields }, caller, deps, work }) {
    const organization = caller.organization.id
    const { workstreams } = deps
    const workstream = await workstreams.open(organization, slug)
    if (fields.approval_id !== null) await deps.gatekeeper.decision(organization, fields.approval_id)
    const { supersedes_decision_slug: earlier } = fields
    const supersedes = earlier === "" ? "" : (await workstreams.part(organization, workstream, "decision", earlier)).slug
    await workstreams.requireRoom(organization, workstream, "decision", decisionSlug)
    const decision: StoredDecision = {
      ...workstreams.newPart(workstream, decisionSlug),
      ...fields,
      supersedes_decision_slug: supersedes,
      kind: "decision",
      status: decisionMachine.initial,
      execution_status: decisionExecutionMachine.initial,
      outcome_status: outcomeMachine.initial,
      outcome_label: "",
      decider_kind: "",
      decider_rationale: "",
      decided_by_user_id: null,
      proposed_at: workstreams.now(),
      authorized_at: null,
      rejected_at: null,
      superseded_by_decision_slug: "",
    }
    const body = `Decision "${decisionSlug}" proposed: ${fields.what}`
    const news = { actor: actorOf(caller), event: "decision_proposed", body, data: { decision: decisionSlug } }
    workstreams.add(work, organization, workstream, decision, news)
    return shownDecision(decision)
  },
  onConflict: async ({ error }) => error,
})

export const listDecisions = defineList({
  name: "workstreams.list_decisions",
  summary: "List the decisions of a workstream, newest first.",
  path: `${path}/{slug}/decisions`,
  access: reading,
  columns: ["slug", "status", "execution_status", "outcome_status", "what"],
  input: { ...bySlug, status: z.enum(namesOf(decisionMachine.states)).optional() },
  examples: [{ given: madeWorkstream, input: ofThatWorkstream }],
  inject: { workstreams: Workstreams },
  collection: PartCollection,
  where: async ({ slug, ...filter }, { organization, deps }) => ({
    workstream_id: (await deps.workstreams.require(organization, slug)).id,
    kind: "decision",
    ...filter,
  }),
  items: { decisions: DecisionResource },
  view: (part) => shownDecision(part as StoredDecision),
  beside: refsBeside,
})

export const getDecision = defineOperation({
  name: "workstreams.get_decision",
  summary: "Read a decision.",
  http: { method: "GET", path: ofDecision },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject(byDecision),
  output: DecisionResource,
  errors: ["not_found"],
  examples: [proposed],
  inject: { workstreams: Workstreams },
  async handle({ input, caller, deps }) {
    const organization = caller.organization.id
    const workstream = await deps.workstreams.require(organization, input.slug)
    return shownDecision(await deps.workstreams.part(organization, workstream, "decision", input.decision))
  },
})

const statusEvents = ["authorize", "reject", "withdraw", "revoke"] as const
const executionEvents = namesOf(decisionExecutionMachine.events)
const outcomeEvents = namesOf(outcomeMachine.events)

export const moveDecision = defineOperation({
  name: "workstreams.move_decision",
  summary: "Authorize, reject, withdraw or revoke a decision, carry it out, or report what came of it.",
  description:
    "`authorize`, `reject`, `withdraw` and `revoke` change whether it stands; `begin`, `succeed` and `fail` its execution; `report_…` what came of it. None of them changes another fact, but that what an authorized decision supersedes is superseded in the same commit.",
  http: { method: "POST", path: `${ofDecision}/transitions` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: false },
  input: z.strictObject({
    ...byDecision,
    event: z.enum([...statusEvents, ...executionEvents, ...outcomeEvents]),
    rationale: Words.default("").describe("Of who decides."),
    outcome_label: ShortWords.default("").describe("Of a report: what came of it, in words."),
  }),
  output: DecisionResource,
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted"],
  examples: [
    {
      given: { ...proposed.given, workstream: autonomous },
      input: { ...proposed.input, event: "authorize", rationale: "Agreed." },
    },
  ],
  inject: { store: Store, workstreams: Workstreams, gatekeeper: Gatekeeper },
  async handle({ input: { slug, decision: ref, event, rationale, outcome_label }, caller, deps, work }) {
    const organization = caller.organization.id
    const { workstreams } = deps
    const workstream = await workstreams.open(organization, slug)
    const decision = await workstreams.part(organization, workstream, "decision", ref)
    const earlier = await supersededBy(deps.store, organization, decision)
    const change = isOf(statusEvents, event)
      ? statusChange(decision, event, {
          by_decider: mayDecide(caller, workstream),
          approval_granted: await isGranted(deps.gatekeeper, organization, decision),
          superseded_stands: decision.supersedes_decision_slug === "" || earlier?.status === "authorized",
        })
      : factChange(decision, event, outcome_label)
    const decided = isOf(statusEvents, event) ? { ...deciderOf(caller), decider_rationale: rationale } : {}
    const at = workstreams.now()
    const times = change.status === "authorized" ? { authorized_at: at } : change.status === "rejected" ? { rejected_at: at } : {}
    const body = `Decision "${decision.slug}": ${event}.${rationale === "" ? "" : ` ${rationale}`}`
    const news = { actor: actorOf(caller), event: "decision_moved", body, data: { decision: decision.slug, ...change } }
    const moved = workstreams.change(work, organization, workstream, decision, { ...change, ...decided, ...times }, news)
    if (change.status === "authorized" && earlier)
      supersede(workstreams, work, { organization, workstream, earlier, by: decision.slug }, caller)
    return shownDecision(moved)
  },
  onConflict: async ({ error }) => error,
})

function statusChange(
  { status }: StoredDecision,
  event: (typeof statusEvents)[number],
  holds: { by_decider: boolean; approval_granted: boolean; superseded_stands: boolean },
): Partial<Pick<StoredDecision, "status">> {
  return { status: nextState(decisionMachine, status, event, holds) }
}

/** Returns the change of the execution state or the outcome. */
function factChange(
  { status, execution_status, outcome_status }: StoredDecision,
  event: (typeof executionEvents)[number] | (typeof outcomeEvents)[number],
  outcome_label: string,
): {
  status?: never
  execution_status?: StoredDecision["execution_status"]
  outcome_status?: StoredDecision["outcome_status"]
  outcome_label?: string
} {
  if (isOf(executionEvents, event))
    return { execution_status: nextState(decisionExecutionMachine, execution_status, event, { stands: status === "authorized" }) }
  return { outcome_status: nextState(outcomeMachine, outcome_status, event, { executed: execution_status === "executed" }), outcome_label }
}

function supersede(
  workstreams: Workstreams,
  work: UnitOfWork,
  { organization, workstream, earlier, by }: { organization: string; workstream: StoredWorkstream; earlier: StoredDecision; by: string },
  caller: Caller,
): void {
  const status = nextState(decisionMachine, earlier.status, "supersede", {
    by_decider: true,
    approval_granted: true,
    superseded_stands: true,
  })
  const body = `Decision "${earlier.slug}" is superseded by "${by}".`
  const news = { actor: actorOf(caller), event: "decision_moved", body, data: { decision: earlier.slug, status } }
  workstreams.change(work, organization, workstream, earlier, { status, superseded_by_decision_slug: by }, news)
}

async function supersededBy(store: Store, organization: string, decision: StoredDecision): Promise<StoredDecision | undefined> {
  const { workstream_id, supersedes_decision_slug: slug } = decision
  if (slug === "") return undefined
  return (await store.open(PartCollection, organization).first({ workstream_id, kind: "decision", slug })) as StoredDecision | undefined
}

async function isGranted(gatekeeper: Gatekeeper, organization: string, { approval_id }: StoredDecision): Promise<boolean> {
  if (approval_id === null) return true
  try {
    return (await gatekeeper.decision(organization, approval_id)).state === "approved"
  } catch (error) {
    // Removed meanwhile.
    if (error instanceof AppError && error.code === "not_found") return false
    throw error
  }
}

function deciderOf(caller: Caller): Pick<StoredDecision, "decided_by_user_id" | "decider_kind"> {
  return { decided_by_user_id: caller.user?.id ?? null, decider_kind: isPerson(caller) ? "person" : "agent" }
}

function isOf<E extends string>(events: readonly E[], event: string): event is E {
  return (events as readonly string[]).includes(event)
}
