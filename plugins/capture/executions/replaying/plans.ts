// Creates, starts, pauses and stops replay plans. A job rehearses and replays the events, and continues after the last commit.
// The ID of a replay is derived from the plan and the event. If a node dies between a replay and the plan's commit, the next run
// finds the finished replay.
import {
  AppError,
  type Clock,
  changesOf,
  defineChannel,
  defineJob,
  derivedUuid,
  derivedUuidInOrder,
  type Ids,
  type JobQueue,
  type Live,
  type Logger,
  nextState,
  type Store,
  timestamp,
  token,
  type UnitOfWork,
  type UnitsOfWork,
} from "#core"
import {
  EntryCollection,
  type JournalEntry,
  type PipelineEngine,
  type PipelineSource,
  type StoredPipeline,
  storedPayload,
} from "#core/engine"
import {
  type Group,
  type Outcome,
  type PlannedEvent,
  PlannedEventCollection,
  type ReplayPlan,
  ReplayPlanCollection,
  replayRef,
} from "./collections.ts"
import { type Rehearsed, rehearse } from "./rehearse.ts"
import { planMachine } from "./states.ts"

export interface PlanDeps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly clock: Clock
  readonly ids: Ids
  readonly queue: JobQueue
  readonly live: Live
  readonly engine: PipelineEngine
  readonly source: PipelineSource
  readonly payloadsDays: number
  readonly entriesDays: number
}

export const maxEvents = 100_000
const perCommit = 20
const maxGroups = 50
const maxSamples = 5
const dayMs = 86_400_000

export class ReplayPlans {
  readonly #deps: PlanDeps

  constructor(deps: PlanDeps) {
    this.#deps = deps
  }

  async get(organization: string, id: string): Promise<ReplayPlan> {
    const plan = await this.#deps.store.open(ReplayPlanCollection, organization).get(id)
    if (plan) return plan
    throw new AppError("not_found", `The replay plan ${id} does not exist.`, { reason: "replay_plan_not_found" })
  }

  async create(
    work: UnitOfWork,
    organization: string,
    pipeline: { id: string; slug: string },
    given: Omit<ReplayPlan["filter"], "until"> & { until?: string | undefined },
  ): Promise<ReplayPlan> {
    const { store, clock, ids, entriesDays } = this.#deps
    const now = timestamp(clock.now())
    // The plan's own replays are received later, outside the filter.
    const filter = { ...given, until: given.until !== undefined && given.until < now ? given.until : now }
    const count = await store.open(EntryCollection, organization).count(filterOf(pipeline.id, filter), { limit: maxEvents + 1 })
    if (count === 0 || count > maxEvents) {
      const message = count === 0 ? "No verified event matches the filter." : `More than ${maxEvents} events match; narrow the time.`
      throw new AppError("failed_precondition", message, { reason: "replay_plan_size", most: maxEvents })
    }
    const plan: ReplayPlan = {
      id: ids.uuid(),
      pipeline_id: pipeline.id,
      pipeline_slug: pipeline.slug,
      filter,
      state: "rehearsing",
      resumes: null,
      count,
      rehearsed: 0,
      replayed: { accepted: 0, rejected: 0, failed: 0, skipped: 0 },
      groups: [],
      position: [],
      created_at: now,
      updated_at: now,
      expires_at: timestamp(clock.now() + entriesDays * dayMs),
      revision: 1,
    }
    work.in(ReplayPlanCollection, organization).insert(plan)
    this.#announce(work, organization, plan)
    this.#carryOn(work, organization, plan)
    return plan
  }

  /** Stages the change of state that a person requested. */
  async change(work: UnitOfWork, organization: string, id: string, asked: "start" | "pause" | "resume" | "stop"): Promise<ReplayPlan> {
    const plan = await this.get(organization, id)
    const event = asked === "resume" ? (plan.resumes === "replaying" ? "resume_replays" : "resume_rehearsal") : asked
    const state = nextState(planMachine, plan.state, event, {})
    const resumes: ReplayPlan["resumes"] = asked !== "pause" ? null : plan.state === "replaying" ? "replaying" : "rehearsing"
    const next = { ...plan, state, resumes, ...(asked === "start" && { position: [] }) }
    const changed = this.#stage(work, organization, plan, next)
    if (state === "rehearsing" || state === "replaying") this.#carryOn(work, organization, changed)
    return changed
  }

  /** Runs a plan until it is done or paused. Throws errors that a retry may solve. */
  async run(organization: string, id: string, signal: AbortSignal, log: Logger): Promise<void> {
    for (;;) {
      signal.throwIfAborted()
      const plan = await this.#deps.store.open(ReplayPlanCollection, organization).get(id)
      if (!plan || (plan.state !== "rehearsing" && plan.state !== "replaying")) return
      try {
        await this.#some(organization, plan, log)
      } catch (error) {
        // The plan was paused or stopped during the batch.
        if (!(error instanceof AppError) || error.code !== "aborted") throw error
      }
    }
  }

  async #some(organization: string, plan: ReplayPlan, log: Logger): Promise<void> {
    const { store, works, source } = this.#deps
    const stored = await source.byId(organization, plan.pipeline_id)
    const entries = await store.open(EntryCollection, organization).find(filterOf(plan.pipeline_id, plan.filter), {
      sort: { received_at: 1 },
      limit: perCommit,
      ...(plan.position.length > 0 && { after: plan.position }),
    })
    const next = structuredClone(plan)
    const done: { event: PlannedEvent; isNew: boolean }[] = []
    for (const entry of entries) {
      done.push(
        plan.state === "rehearsing"
          ? await this.#rehearse(stored, organization, next, entry)
          : await this.#replay(stored, next, entry, log),
      )
      next.position = [entry.received_at, entry.id]
    }
    if (entries.length < perCommit) {
      next.state = nextState(planMachine, plan.state, plan.state === "rehearsing" ? "rehearsed" : "done", {})
    }
    await works.run((work) => {
      this.#stage(work, organization, plan, next)
      const events = work.in(PlannedEventCollection, organization)
      for (const { event, isNew } of done) {
        if (isNew) events.insert(event, { ifPresent: "keep" })
        else events.update(event.id, { $set: { replay_id: event.replay_id, replay_status: event.replay_status } }, { optional: true })
      }
    })
  }

  async #rehearse(stored: StoredPipeline | undefined, organization: string, plan: ReplayPlan, entry: JournalEntry) {
    const { store, clock, engine, payloadsDays } = this.#deps
    const kept = await storedPayload(store, organization, entry, payloadsDays, clock.now())
    const skipped = (detail: string): Rehearsed => ({ outcome: "skipped", detail })
    const said = !stored ? skipped("no pipeline") : kept ? await rehearse(engine, stored, entry, kept) : skipped("payload expired")
    count(plan.groups, said, entry.id)
    plan.rehearsed++
    const id = derivedUuid("replay plan event", plan.id, entry.id)
    const event = {
      id,
      plan_id: plan.id,
      execution_id: entry.id,
      ...said,
      replay_id: null,
      replay_status: null,
      expires_at: plan.expires_at,
    }
    return { event, isNew: true }
  }

  async #replay(stored: StoredPipeline | undefined, plan: ReplayPlan, entry: JournalEntry, log: Logger) {
    const id = derivedUuid("replay plan event", plan.id, entry.id)
    const replayId = derivedUuidInOrder(plan.id, entry.id)
    const event: PlannedEvent = {
      id,
      plan_id: plan.id,
      execution_id: entry.id,
      outcome: "skipped",
      detail: "",
      replay_id: null,
      replay_status: null,
      expires_at: plan.expires_at,
    }
    try {
      if (!stored) throw new AppError("failed_precondition", "The pipeline is gone.", { reason: "not_active" })
      const { execution_id, status } = await this.#deps.engine.replay(stored, entry.id, { log }, { id: replayId })
      plan.replayed[status]++
      event.replay_id = execution_id
      event.replay_status = status
    } catch (error) {
      // Skips the event only if its own payload has expired. Other errors fail the batch, and the job retries.
      if (!(error instanceof AppError) || error.details.reason !== "payload_expired") throw error
      plan.replayed.skipped++
      event.replay_status = "skipped"
    }
    return { event, isNew: false }
  }

  #stage(work: UnitOfWork, organization: string, before: ReplayPlan, next: ReplayPlan): ReplayPlan {
    const changed = { ...next, revision: before.revision + 1, updated_at: timestamp(this.#deps.clock.now()) }
    const { id, organization_id: _, ...$set } = changed
    work.in(ReplayPlanCollection, organization).update(id, { $set: changesOf($set) }, { where: { revision: before.revision } })
    this.#announce(work, organization, changed)
    return changed
  }

  #announce(work: UnitOfWork, organization: string, { id, pipeline_slug, state, count: of, rehearsed, replayed }: ReplayPlan): void {
    const data = { id, pipeline_slug, state, count: of, rehearsed, replayed: { ...replayed } }
    this.#deps.live.stage(work, organization, { channel: "replay-plans", event: "progress", data })
  }

  #carryOn(work: UnitOfWork, organization: string, { id, revision }: ReplayPlan): void {
    this.#deps.queue.enqueue(work, replayRef, { plan: id }, { organization, id: derivedUuid("replay plan", id, String(revision)) })
  }
}

function filterOf(pipeline_id: string, { status, cause, is_test, since, until }: ReplayPlan["filter"]) {
  return {
    pipeline_id,
    ...(status && { status }),
    ...(cause !== undefined && { cause }),
    ...(is_test !== undefined && { is_test }),
    received_at: { ...(since !== undefined && { $gte: since }), $lt: until },
    "verdict.ok": true,
    replay_of: null,
    repeat_of: null,
  }
}

/** Adds an event to its group. Above `maxGroups` groups, further kinds share one group. */
function count(groups: Group[], { outcome, detail }: Rehearsed, id: string): void {
  const isFull = groups.length >= maxGroups
  const of = (one: { outcome: Outcome; detail: string }) =>
    groups.find((group) => group.outcome === one.outcome && group.detail === one.detail)
  const kind = of({ outcome, detail }) || !isFull ? { outcome, detail } : { outcome, detail: "…" }
  const group = of(kind)
  if (!group) groups.push({ ...kind, count: 1, samples: [id] })
  else {
    group.count++
    if (group.samples.length < maxSamples) group.samples.push(id)
  }
}

export const ReplayPlansToken = token<ReplayPlans>("ReplayPlans")

export const replayPlansChannel = defineChannel({
  name: "replay-plans",
  scope: "replay_plans:read",
  summary: "How far each replay plan is, with each of its commits.",
})

export const replayPlan = defineJob(replayRef, {
  summary: "Rehearses or replays the events of a plan.",
  slots: 2,
  inject: { plans: ReplayPlansToken },
  run: ({ payload: { plan }, deps, organization, signal, log }) => deps.plans.run(organization ?? "", plan, signal, log),
})
