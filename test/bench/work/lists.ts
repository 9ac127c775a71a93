// Lists of areas for people and agents, each with 100,000 records, and a workstream of 10,000 events read as a whole, on each
// store. Goals: 20 ms per page, 10 ms for a whole workstream with a usual number of parts.
import { randomUUID } from "node:crypto"
import { type Document, Ids, Store, timestamp } from "#core"
import { StagedWork } from "#core/engine"
import type { TestHost } from "#core/testing"
import type { CollectionSpec } from "../../../core/contract/collection.ts"
import { RunCollection } from "../../../plugins/agents/heartbeats/collections.ts"
import { HeartbeatResource } from "../../../plugins/agents/heartbeats/heartbeat.ts"
import { Agents } from "../../../plugins/agents/threads/agents/agents.ts"
import { AgentRunCollection, MessageCollection, RunStepCollection, ThreadCollection } from "../../../plugins/agents/threads/collections.ts"
import {
  AttemptCollection,
  EventCollection,
  PartCollection,
  WorkstreamCollection,
} from "../../../plugins/agents/workstreams/collections.ts"
import { WorkstreamTemplates } from "../../../plugins/agents/workstreams/templates.ts"
import { VersionCollection } from "../../../plugins/data/knowledge/collections.ts"
import { ItemCollection } from "../../../plugins/data/knowledge/item.ts"
import { InvitationsCollection, OrganizationsCollection } from "../../../plugins/platform/organizations/collections.ts"
import type { BenchOptions } from "../options.ts"
import { filledRows, type Get, type Queries } from "../service/filled.ts"
import type { Row } from "../table.ts"

const many = 100_000
const perCommit = 500
const wholeEvents = 10_000
/** The operator's maximum. */
const maxHeartbeats = 10_000

export async function* workRows(options: BenchOptions): AsyncGenerator<Row> {
  let existing: ExampleIds | undefined
  yield* filledRows(options, {
    area: "work",
    allowedMs: 20,
    async fill(host, store) {
      existing = await fill(host, (what) => options.note(`work/${store}: ${many} ${what}`))
    },
    buildQueries: (get) => buildQueries(get, existing as ExampleIds),
  })
}

/** Documents read by id. */
type ExampleIds = Readonly<Record<"heartbeat" | "item" | "thread" | "run" | "assignment", string>>

async function fill(host: TestHost, note: (what: string) => void): Promise<ExampleIds> {
  const organization = host.organization.id
  const at = timestamp(host.clock.now())
  const times = { revision: 1, created_at: at, updated_at: at }
  const insert = async (collection: CollectionSpec, count: number, createDocument: (n: number) => object) => {
    note(collection.name)
    for (let from = 0; from < count; from += perCommit) {
      const work = new StagedWork(`fill ${collection.name} ${from}`)
      for (let n = from; n < Math.min(count, from + perCommit); n++) {
        const stored = { id: host.get(Ids).uuid(), ...createDocument(n) } as Document
        if (collection.scope === "organization") work.in(collection as typeof WorkstreamCollection, organization).insert(stored as never)
        else work.in(collection as typeof OrganizationsCollection).insert(stored as never)
      }
      await work.commitTo(host.get(Store))
    }
  }
  const of = <T>(list: readonly T[], n: number) => list[n % list.length] as T
  const createWorkstream = async (slug: string) =>
    (await host.api<{ workstream: { id: string } }>("POST", "/v1/workstreams", { title: slug, slug })).body.workstream.id
  const [whole, full] = [await createWorkstream("whole"), await createWorkstream("full")]
  const [assignment, thread, run, item] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
  const beating = { name: "Beats", kind: "script", interval_minutes: 600, state: "paused", script_js: "function script() { return null }" }
  const heartbeat = (await host.api<{ id: string }>("POST", "/v1/heartbeats", beating)).body.id
  await host.api("POST", "/v1/agents", { key: "writer", name: "Writer", protocol: "model" })

  await insert(WorkstreamCollection, many, (n) => ({
    ...{ slug: `w-${n}`, title: `Workstream ${n}`, description: "", status: of(["draft", "active", "paused", "archived"], n), ...times },
    ...{ autonomy_mode: "supervised", escalation_budget_per_day: 10, token_budget_millicents: 0, spent_millicents: 0, external_refs: [] },
    ...{ primary_thread_id: thread, project_id: null, source_template_id: null, escalations: { day: "", count: 0 }, followers: [] },
    ...{ started_at: null, completed_at: null },
  }))
  await insert(WorkstreamTemplates.collection, many, (n) => ({
    ...{ slug: `t-${n}`, title: `Template ${n}`, description: "", autonomy_mode: "supervised", escalation_budget_per_day: 10, ...times },
    ...{ token_budget_millicents: 0, phases: [], assignments: [] },
  }))
  // A usual workstream, and one with the maximum number of parts.
  const part = (kind: string, n: number) => ({ kind, workstream_id: n < 30 ? whole : full, slug: `${kind}-${n}`, ...times })
  const workstream_id = full
  const attempt = { agent_run_id: null, attempt_number: 1, ended_at: at, handles: [], result_kind: "", state: "failed", summary: "" }
  const words = { phase_id: null, objective: "Write the copy of the campaign.", acceptance_criteria: "", expected_result_kind: "" }
  await insert(PartCollection, 530, (n) => ({
    ...(n === 30 ? { id: assignment } : {}),
    ...part("assignment", n),
    ...{ ...words, assigned_agent_key: "", responsibility: "unassigned", work_state: of(["planned", "done"], n), work_state_reason: "" },
    ...{ adoption_state: "none", reason: "", latest_attempt: null },
  }))
  const decision = { applicability: "", approval_id: null, authorized_at: null, decided_by_user_id: null, decider_kind: "", source: "" }
  const decided = { decider_rationale: "", decision_class: "", evidence_kind: "", execution_status: "not_started", outcome_label: "" }
  const proposal = { outcome_status: "unknown", proposed_at: at, rejected_at: null, subject_kind: "", subject_label: "", why: "Because." }
  await insert(PartCollection, 530, (n) => ({
    ...{ ...part("decision", n), ...decision, ...decided, ...proposal, status: of(["proposed", "rejected"], n), what: `Decision ${n}` },
    ...{ superseded_by_decision_slug: "", supersedes_decision_slug: "" },
  }))
  const event = (n: number) => ({ actor_id: null, actor_type: "service", body: `Event ${n} of a workstream.`, created_at: at })
  await insert(EventCollection, many, (n) => ({ workstream_id: n < wholeEvents ? whole : full, ...event(n) }))
  const tried = { ...attempt, terminal_reason: "", assignment_id: assignment, workstream_id, assignee: "writer", created_at: at }
  await insert(AttemptCollection, many, () => tried)

  const managed = { id: organization, role: "member", since: at, made_keys: 0 }
  await insert(OrganizationsCollection, many, (n) => ({
    ...{ slug: `client-${n}`, name: `Client ${n}`, time_zone: "UTC", created_at: at, managed_by: managed },
  }))
  const soon = timestamp(host.clock.now() + 86_400_000)
  await insert(InvitationsCollection, many, () => ({
    manager_id: organization,
    role: "member",
    note: "",
    created_at: at,
    expires_at: soon,
  }))

  const beat = { description: "", interval_minutes: 60, active_days: [1], active_window_start: "", active_window_end: "", timezone: "UTC" }
  const does = { paused_reason: "", next_run_at: null, beat_id: null, script_js: "", datasets: [], pipeline_slug: "", instructions: "" }
  const may = { model: "", role: "guest", tools: [], max_steps: 8, budget_millicents: 10_000, current_run_id: null, latest_run_id: null }
  await insert(HeartbeatResource.collection, maxHeartbeats, (n) => ({
    ...{ name: `Heartbeat ${n}`, kind: of(["script", "instructions"], n), state: of(["active", "paused", "paused"], n), ...times },
    ...{ ...beat, ...does, ...may, latest_status: "", latest_reason: "", latest_run_at: null, failures: 0, previous: null },
  }))
  const ran = { cause: "schedule", due_at: at, started_at: at, finished_at: at, begun_by: null, reason: "", message: "", result: null }
  const ends = { execution_id: null, steps: [], cost_millicents: 0, expires_at: timestamp(host.clock.now() + 30 * 86_400_000) }
  const states = ["succeeded", "failed", "succeeded", "interrupted"]
  await insert(RunCollection, many, (n) => ({ heartbeat_id: heartbeat, state: of(states, n), ...ran, ...ends }))

  const read = { content_state: "ready", content_reason: "", content_message: "", source_url: "" }
  const text = "What a document says. ".repeat(90)
  const titled = { title_given: true, description: "", version: 1, content_version: 1, excerpt: text, characters: text.length, ...times }
  await insert(ItemCollection, many, (n) => ({
    ...(n === 0 ? { id: item } : {}),
    ...{ title: `Item ${n}`, category: of(["policies", "prices", "people"], n), type: of(["markdown", "pdf"], n), ...read, ...titled },
    ...{ entry: 0, index_due: false, vector_due: false, content_state: of(["ready", "ready", "ready", "ready", "failed"], n) },
  }))
  await insert(VersionCollection, many, (n) => ({
    item_id: item,
    version: n + 1,
    type: "text",
    ...read,
    bytes: 10,
    text: "",
    created_at: at,
  }))

  const by = { created_by_user_id: null, message_count: 0 }
  await insert(ThreadCollection, many, (n) => ({ ...(n === 0 ? { id: thread } : {}), title: `Thread ${n}`, ...by, ...times }))
  const message = { role: "user", author: "somebody", content: "What was said in a message of a thread.", agent_run_id: null }
  await insert(MessageCollection, many, () => ({ thread_id: thread, ...message, created_at: at }))
  const request = {
    subject: null,
    attempt_number: 1,
    input: "Write.",
    output: "Written.",
    summary: "Written.",
    result_kind: "",
    handles: [],
  }
  const over = { terminal_reason: "", cost_millicents: 0, requested_by: null, revision: 1, created_at: at, started_at: at, ended_at: at }
  await insert(AgentRunCollection, many, (n) => ({
    ...(n === 0 ? { id: run } : {}),
    ...{ agent_id: thread, agent_key: of(["writer", "reader"], n), thread_id: of([thread, run, item], n) },
    ...{ state: of(["succeeded", "failed", "canceled", "succeeded", "succeeded"], n), ...request, ...over },
  }))
  const step = { run_id: run, attempt_number: 1, kind: "reported", detail: "How far it is.", cost_millicents: 0, at }
  await insert(RunStepCollection, many, () => step)
  const [agent] = await host.get(Store).open(Agents.collection, organization).find({}, { limit: 1 })
  await insert(Agents.collection, many, (n) => ({ ...agent, id: randomUUID(), key: `agent-${n}` }))
  return { heartbeat, item, thread, run, assignment }
}

async function buildQueries(get: Get, { heartbeat, item, thread, run, assignment }: ExampleIds): Promise<Queries> {
  const full = "/v1/workstreams/full"
  const paths: Record<string, string> = {
    "workstreams/whole": "/v1/workstreams/whole",
    "workstreams/whole-full": full,
    "workstreams/list": "/v1/workstreams?",
    "workstreams/list-status": "/v1/workstreams?status=paused",
    "workstreams/templates": "/v1/workstream-templates?",
    "workstreams/events": `${full}/events?`,
    "workstreams/assignments": `${full}/assignments?work_state=done&adoption_state=none`,
    "workstreams/decisions": `${full}/decisions?status=rejected`,
    "workstreams/attempts": `${full}/assignments/${assignment}/attempts?`,
    "organizations/managed": "/v1/managed-organizations?",
    "organizations/managed-50": "/v1/managed-organizations?limit=50",
    "organizations/invitations": "/v1/managed-organization-invitations?",
    "heartbeats/list": "/v1/heartbeats?",
    "heartbeats/list-state-kind": "/v1/heartbeats?state=paused&kind=script",
    "heartbeats/runs": `/v1/heartbeats/${heartbeat}/runs?`,
    "heartbeats/runs-status": `/v1/heartbeats/${heartbeat}/runs?status=failed`,
    "heartbeats/runs-status-none": `/v1/heartbeats/${heartbeat}/runs?status=running`,
    "knowledge/list": "/v1/knowledge?",
    "knowledge/list-category": "/v1/knowledge?category=prices",
    "knowledge/list-type": "/v1/knowledge?type=pdf",
    "knowledge/list-category-type-state": "/v1/knowledge?category=prices&type=pdf&content_state=failed",
    "knowledge/list-category-none": "/v1/knowledge?category=prices&content_state=pending",
    "knowledge/list-state": "/v1/knowledge?content_state=failed",
    "knowledge/versions": `/v1/knowledge/${item}/versions?`,
    "threads/list": "/v1/threads?",
    "threads/messages": `/v1/threads/${thread}/messages?`,
    "threads/agents": "/v1/agents?",
    "threads/runs": "/v1/agent-runs?",
    "threads/runs-state": "/v1/agent-runs?state=canceled",
    "threads/runs-agent": "/v1/agent-runs?agent_key=writer",
    "threads/runs-agent-state": "/v1/agent-runs?agent_key=writer&state=failed",
    "threads/runs-thread": `/v1/agent-runs?thread_id=${thread}`,
    "threads/runs-agent-thread": `/v1/agent-runs?agent_key=writer&thread_id=${thread}`,
    "threads/runs-agent-thread-state": `/v1/agent-runs?agent_key=reader&thread_id=${thread}&state=failed`,
    "threads/runs-none": `/v1/agent-runs?state=waiting`,
    "threads/steps": `/v1/agent-runs/${run}/steps?`,
  }
  const asks: [string, () => Promise<unknown>][] = []
  for (const [name, path] of Object.entries(paths)) {
    asks.push([name, () => get(path)])
    if (!path.includes("?")) continue
    const { next_cursor: cursor } = await get<{ next_cursor: string }>(path)
    if (cursor !== "") asks.push([`${name}-next`, () => get(`${path}&cursor=${encodeURIComponent(cursor)}`)])
  }
  return Object.fromEntries(asks)
}
