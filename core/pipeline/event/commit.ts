// The end of an event: run the graph up to the reply, put everything it leaves behind into one commit, and only then
// say so. Shared by events from outside, events from inside, and replays.

import type { Reply } from "../../contract/action.ts"
import type { Live } from "../../contract/channel.ts"
import type { Json } from "../../contract/collection.ts"
import type { Envelope } from "../../contract/envelope.ts"
import type { JobQueue } from "../../contract/job.ts"
import type { CommitResult, Store } from "../../contract/store.ts"
import { StagedWork } from "../../contract/work.ts"
import type { Clock } from "../../kernel/clock.ts"
import { AppError, asAppError } from "../../kernel/errors.ts"
import type { Logger } from "../../kernel/log.ts"
import { inStage } from "../../kernel/tracing.ts"
import type { AcceptedEvents } from "../accepted-events.ts"
import { announcementId, announcementOf } from "../journal/announcement.ts"
import { EntryCollection } from "../journal/collections.ts"
import { noteExecution, noteOutcome, noteReply, noteTiming } from "../journal/draft.ts"
import type { JournalEntry } from "../journal/entry.ts"
import { type KeptEvent, keepEvent } from "../journal/kept.ts"
import { storedEntry } from "../journal/stored.ts"
import { deferredJob, deferredJobId } from "../run/deferred.ts"
import { deferredPayload } from "../run/deferred-payload.ts"
import { Execution, type Failure } from "../run/execution.ts"
import { type ImmediateServices, runImmediate } from "../run/immediate.ts"
import type { StoredPipeline } from "../source.ts"
import { type Answer, acceptedReply, answerReply, errorReply } from "./answer.ts"
import { type Dedupe, RepeatedEvent } from "./dedupe.ts"
import { type LivePipeline, refuseEnded } from "./loaded-pipelines.ts"

export interface ConcludeServices {
  readonly store: Store
  readonly clock: Clock
  readonly log: Logger
  readonly queue: () => JobQueue
  readonly live: () => Live
  readonly dedupe: Dedupe
  readonly accepted: AcceptedEvents
  readonly immediate: ImmediateServices
  readonly payloadsDays: number
  readonly signal: AbortSignal
  readonly assertLive: () => void
}

export interface ConcludeArgs {
  readonly live: LivePipeline
  readonly entry: JournalEntry
  readonly depth: number
  readonly originId: string
  readonly identity: string
  readonly receivedAt: string
  readonly event: Json
  readonly payload: Json
  readonly query: Json
  readonly envelope: Envelope
  readonly stamp: Readonly<Record<string, Json>>
  /** What to keep for a replay; absent for what is one already. */
  readonly keep?: KeptEvent | undefined
  readonly seenId?: string | undefined
}

export class Conclude {
  readonly #services: ConcludeServices

  constructor(services: ConcludeServices) {
    this.#services = services
  }

  /** Answers once everything is on disk. Throws what the commit threw when nothing could be kept. */
  async run(args: ConcludeArgs): Promise<Answer> {
    const { live, entry } = args
    const { clock, store } = this.#services
    const began = clock.monotonic()
    const execution = new Execution({
      id: entry.id,
      ...args,
      stored: live.stored,
      graph: live.graph,
      signal: this.#services.signal,
      log: this.#services.log,
    })
    const outcome = args.event === null ? null : inStage("run", () => runImmediate(execution, this.#services.immediate))
    const failure = outcome !== null && "then" in outcome ? await outcome : outcome
    noteTiming(entry, "run", clock.monotonic() - began)
    noteExecution(entry, execution, failure)
    const work = failure ? new StagedWork(entry.id) : execution.work
    for (const write of execution.kept.writes) work.write(write)
    const reply = failure ? failedReply(entry.id, failure) : (execution.reply ?? acceptedReply(entry.id))
    noteReply(entry, reply)
    if (!failure) this.#stageAccepted(work, execution, args, reply)
    const followed = failure || args.event === null ? undefined : this.#services.accepted.stage(work, live.stored, args)
    if (followed) await followed
    this.#stageEntry(work, live.stored, entry, args.keep)
    this.#services.assertLive()
    refuseEnded(live)
    let result: CommitResult
    try {
      result = await inStage("commit", () => store.commit(work.commit))
    } catch (fault) {
      return this.#refused(args, execution, fault)
    }
    if (work.hasHooks) await this.#after(work, result, entry)
    this.announce(live.stored, entry)
    return answerReply(reply)
  }

  /** An entry that nothing else goes with but, where it may be run again, what it came with. */
  async entryOnly(stored: StoredPipeline, entry: JournalEntry, keep?: KeptEvent): Promise<void> {
    const work = new StagedWork(entry.id)
    this.#stageEntry(work, stored, entry, keep)
    await this.#services.store.commit(work.commit)
    this.announce(stored, entry)
  }

  /** What follows a commit cannot undo it, nor the answer. */
  async #after(work: StagedWork, result: CommitResult, entry: JournalEntry): Promise<void> {
    try {
      await work.committed(result)
    } catch (error) {
      this.#services.log.error({ err: error, execution: entry.id }, "an event is on disk, but what follows its commit failed")
    }
  }

  announce(stored: StoredPipeline, entry: JournalEntry): void {
    this.#services.live().emit(stored.organization.id, announcementOf(entry), () => announcementId(entry))
  }

  /** What only an accepted event leaves behind: its deferred job, its deduplication key. */
  #stageAccepted(work: StagedWork, execution: Execution, { live, entry, seenId }: ConcludeArgs, reply: Reply): void {
    const { stored, graph } = live
    if (execution.pendingSteps > 0) {
      const id = deferredJobId(entry.id)
      this.#services
        .queue()
        .enqueue(work, deferredJob, deferredPayload(execution, stored.revision), { organization: stored.organization.id, id })
    }
    if (seenId !== undefined && graph.dedupe) {
      const first = { execution: entry.id, isTest: entry.is_test, reply }
      this.#services.dedupe.stage(work, stored, seenId, first, graph.dedupe.windowMs)
    }
  }

  #stageEntry(work: StagedWork, stored: StoredPipeline, entry: JournalEntry, keep: KeptEvent | undefined): void {
    const organization = stored.organization.id
    if (keep) keepEvent(work, organization, entry, keep, this.#services.payloadsDays)
    work.in(EntryCollection, organization).insert(storedEntry(entry))
  }

  /** The commit itself was refused: by a write of an action (then the event failed), or because storage is down (then nothing is said to have happened). */
  async #refused(args: ConcludeArgs, execution: Execution, fault: unknown): Promise<Answer> {
    const error = asAppError(fault)
    if (error.code === "unavailable" || error.code === "deadline_exceeded" || error.code === "resource_exhausted") throw fault
    const { entry, live, seenId } = args
    if (seenId !== undefined && (error.code === "aborted" || error.code === "already_exists")) {
      const seen = await this.#services.dedupe.find(live.stored, seenId)
      if (seen) throw new RepeatedEvent(seen)
    }
    this.#services.log.warn({ err: error, execution: entry.id }, "the commit of an event was refused")
    noteOutcome(entry, "failed", "commit_refused", { code: error.code, message: error.message })
    entry.rows = []
    const reply = errorReply(new AppError("internal", "The event could not be kept.", { execution_id: entry.id, reason: "commit_refused" }))
    noteReply(entry, reply)
    const work = new StagedWork(`${entry.id}:refused`)
    for (const write of execution.kept.writes) work.write(write)
    this.#stageEntry(work, live.stored, entry, args.keep)
    await this.#services.store.commit(work.commit)
    this.announce(live.stored, entry)
    return answerReply(reply)
  }
}

/** What a sender is told of a failed action: the execution and the step, no internals. */
function failedReply(executionId: string, failure: Failure): Reply {
  const message = "The event was received, but could not be carried out."
  return errorReply(new AppError("internal", message, { execution_id: executionId, step: failure.step, reason: "action_failed" }))
}
