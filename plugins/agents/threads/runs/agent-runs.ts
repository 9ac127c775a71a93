// Runs of agents. A commit starts a run with its job. The state machine moves the run, and each step is recorded. The subject of
// a run, for example a workstream attempt, pays for the run. It is updated in the commit of the run's end.
import {
  AppError,
  Clock,
  changesOf,
  type Deps,
  defineExtensionPoint,
  Ids,
  JobQueue,
  nextState,
  Store,
  timestamp,
  type UnitOfWork,
  UnitsOfWork,
} from "#core"
import type { Account } from "../../models/index.ts"
import type { StoredAgent } from "../agents/agents.ts"
import type { AgentAnswer } from "../agents/call.ts"
import { AgentRunCollection, expireRef, RunStepCollection, runRef, type StoredAgentRun, type StoredRunStep } from "../collections.ts"
import { Threads } from "../threads.ts"
import { type RunEvent, runMachine } from "./transitions.ts"

export interface NewRun {
  readonly agent: StoredAgent
  /** Absent: creates a thread. */
  readonly threadId?: string | undefined
  readonly input: string
  readonly subject?: StoredAgentRun["subject"]
  readonly by: NonNullable<StoredAgentRun["requested_by"]>
}

/** An area's handling of its runs. */
export interface RunSubject {
  readonly kind: string
  /** Returns the account charged for model calls, in addition to the organization. */
  account(organization: string, id: string): Account
  /** Stages the consequences of a run's end. */
  ended(work: UnitOfWork, organization: string, run: StoredAgentRun): Promise<void>
}

/** Serves the runs of one kind of subject. The last item of a kind counts. */
export const RunSubjects = defineExtensionPoint<RunSubject>({ id: "threads.run-subjects" })

export interface RunDeps extends Deps<typeof AgentRuns.inject> {
  /** Deadline for the agent's callback. */
  readonly callbackMs: number
}

/** A transition of a run: the event, and its data. */
export interface RunMove {
  readonly event: RunEvent
  readonly step: Pick<StoredRunStep, "kind" | "detail">
  readonly answer?: AgentAnswer
  readonly reason?: string
}

const maxReason = 1_000

export class AgentRuns {
  static readonly inject = {
    store: Store,
    clock: Clock,
    ids: Ids,
    works: UnitsOfWork,
    queue: JobQueue,
    threads: Threads,
    subjects: RunSubjects,
  }
  readonly #deps: RunDeps

  constructor(deps: RunDeps) {
    this.#deps = deps
  }

  /** Throws `not_found`. */
  async require(organization: string, id: string): Promise<StoredAgentRun> {
    const run = await this.#deps.store.open(AgentRunCollection, organization).get(id)
    if (run) return run
    const message = `The organization has no agent run ${id}; GET /v1/agent-runs lists them.`
    throw new AppError("not_found", message, { reason: "agent_run_not_found" })
  }

  accountOf(organization: string, { subject }: StoredAgentRun): Account | undefined {
    return subject === null ? undefined : this.#subjectOf(subject.kind)?.account(organization, subject.id)
  }

  #subjectOf(kind: string): RunSubject | undefined {
    return this.#deps.subjects.findLast((subject) => subject.kind === kind)
  }

  /** Stages a run with its job. The input is a message of the thread. */
  start(work: UnitOfWork, organization: string, { agent, threadId, input, subject = null, by }: NewRun): StoredAgentRun {
    const { clock, ids, threads } = this.#deps
    const thread = threadId ?? threads.create(work, organization, { title: `Runs of ${agent.name}`, userId: by.user_id }).id
    const id = ids.uuid()
    const message = threads.append(work, organization, thread, {
      role: "user",
      author: by.user_id ?? by.credential_id,
      content: input,
      agent_run_id: id,
    })
    const run: StoredAgentRun = {
      id,
      agent_id: agent.id,
      agent_key: agent.key,
      thread_id: thread,
      subject,
      state: runMachine.initial,
      attempt_number: 1,
      keyed_callback: true,
      input,
      last_message_id: message.id,
      output: "",
      summary: "",
      result_kind: "",
      handles: [],
      terminal_reason: "",
      cost_millicents: 0,
      requested_by: by,
      revision: 1,
      created_at: timestamp(clock.now()),
      started_at: null,
      ended_at: null,
    }
    work.in(AgentRunCollection, organization).insert(run)
    this.#enqueue(work, organization, run)
    return run
  }

  /**
   * Stages a transition of the run as read. Throws for an impossible transition. A concurrent transition makes the commit
   * `aborted`.
   */
  async move(
    work: UnitOfWork,
    organization: string,
    run: StoredAgentRun,
    { event, step, answer, reason }: RunMove,
  ): Promise<StoredAgentRun> {
    const { clock, threads, queue } = this.#deps
    const state = nextState(runMachine, run.state, event, { unbound: run.subject === null })
    const now = clock.now()
    const at = timestamp(now)
    const isOver = state === "succeeded" || state === "failed" || state === "canceled"
    const resumes = event === "resume"
    const cost = Math.ceil(answer?.costMillicents ?? 0)
    const change = {
      state,
      revision: run.revision + 1,
      started_at: event === "begin" ? (run.started_at ?? at) : run.started_at,
      ended_at: isOver ? at : null,
      terminal_reason: (reason ?? "").slice(0, maxReason),
      cost_millicents: run.cost_millicents + cost,
      ...(resumes ? await this.#nextAttempt(organization, run) : {}),
      ...(answer
        ? {
            output: answer.output,
            summary: answer.summary,
            result_kind: answer.resultKind,
            handles: answer.handles.map((handle) => ({ ...handle })),
          }
        : {}),
    }
    const moved: StoredAgentRun = { ...run, ...change }
    const where = { revision: run.revision }
    work.in(AgentRunCollection, organization).update(run.id, { $set: changesOf(change) }, { where })
    if (resumes) this.#enqueue(work, organization, moved)
    else this.record(work, organization, moved, { ...step, cost_millicents: cost })
    if (event === "hand_over") {
      const payload = { run_id: run.id, attempt_number: run.attempt_number }
      queue.enqueue(work, expireRef, payload, { organization, runAt: now + this.#deps.callbackMs })
    }
    if (answer) {
      const message = { role: "agent", author: run.agent_key, content: answer.output, agent_run_id: run.id } as const
      if (answer.output !== "") threads.append(work, organization, run.thread_id, message)
      if (!answer.charged && cost > 0) this.accountOf(organization, run)?.pay(work, cost)
    }
    if (isOver && run.subject) await this.#subjectOf(run.subject.kind)?.ended(work, organization, moved)
    return moved
  }

  /** Commits a transition of the current attempt. Returns undefined if the attempt has ended, or another started. */
  async settle(organization: string, runId: string, attempt: number, move: RunMove): Promise<StoredAgentRun | undefined> {
    return await this.#deps.works.retryConflicts(async (work) => {
      const run = await this.#deps.store.open(AgentRunCollection, organization).get(runId)
      if (!run || run.attempt_number !== attempt || run.ended_at !== null) return undefined
      return await this.move(work, organization, run, move)
    })
  }

  /** Stages a step. */
  record(
    work: UnitOfWork,
    organization: string,
    { id, attempt_number }: StoredAgentRun,
    { kind, detail, cost_millicents }: Pick<StoredRunStep, "kind" | "detail" | "cost_millicents">,
  ): void {
    const { clock, ids } = this.#deps
    const step = { run_id: id, attempt_number, kind, detail: detail.slice(0, maxReason), cost_millicents, at: timestamp(clock.now()) }
    work.in(RunStepCollection, organization).insert({ id: ids.uuid(), ...step })
  }

  /** Returns the fields of the next attempt. The agent sees the thread's messages up to now. */
  async #nextAttempt(organization: string, { thread_id, attempt_number }: StoredAgentRun) {
    const [newest] = await this.#deps.threads.last(organization, thread_id, 1)
    return { attempt_number: attempt_number + 1, ...(newest ? { last_message_id: newest.id } : {}) }
  }

  #enqueue(work: UnitOfWork, organization: string, run: StoredAgentRun): void {
    const payload = { run_id: run.id, attempt_number: run.attempt_number }
    this.#deps.queue.enqueue(work, runRef, payload, { organization, key: run.agent_id })
    this.record(work, organization, run, { kind: "queued", detail: "", cost_millicents: 0 })
  }
}
