// Ends an event: a single commit stores all its effects. The announcement follows the commit.
import type { Live } from "../../contract/channel.ts"
import type { JobQueue } from "../../contract/job.ts"
import type { CommitResult, Store } from "../../contract/store.ts"
import { StagedWork } from "../../contract/unit-of-work.ts"
import type { Clock } from "../../kernel/clock.ts"
import { asAppError } from "../../kernel/errors.ts"
import type { Logger } from "../../kernel/log.ts"
import type { Vault } from "../../kernel/vault.ts"
import type { AcceptedEvents } from "../accepted-events.ts"
import { EntryCollection, noteLate, type SeenKey } from "../journal/collections.ts"
import { announcementId, announcementOf, type JournalEntry } from "../journal/entry.ts"
import { storePayload } from "../journal/kept.ts"
import type { Rejections } from "../journal/rejections.ts"
import { storedEntry } from "../journal/stored.ts"
import { deferredJob } from "../run/deferred.ts"
import { deferredJobId, deferredPayload } from "../run/deferred-payload.ts"
import type { StoredPipeline } from "../source.ts"
import { acceptedReply } from "./answer.ts"
import type { Dedupe } from "./dedupe.ts"
import type { EventContext } from "./event.ts"
import { refuseEnded } from "./loaded-pipelines.ts"
import { isTransient, noteCommitRefused } from "./reject.ts"

/** Commits events. A dry run has its own committer without storage. */
export interface Committer {
  /** Returns true if a rejection of this pipeline may have its own entry in this minute, and counts it. */
  takesOwnEntry(pipelineId: string): boolean
  /** Counts the entry in the shared entry of its cause and minute. Returns the id of the shared entry. */
  fold(stored: StoredPipeline, entry: JournalEntry): string
  /** Writes the entry alone. `replayable` stores the payload as well. */
  entryOnly(event: EventContext, replayable: boolean): Promise<void>
  /** Writes all effects of the event. Resolves to the repeated event if another node accepted it first. Throws if storage fails. */
  commit(event: EventContext): Promise<SeenKey | undefined>
  announce(stored: StoredPipeline, entry: JournalEntry): void
}

export interface CommitServices {
  readonly store: Store
  readonly clock: Clock
  readonly log: Logger
  readonly queue: () => JobQueue
  readonly live: () => Live
  readonly dedupe: Dedupe
  readonly accepted: AcceptedEvents
  readonly rejections: Rejections
  readonly payloadsDays: number
  readonly vault: Vault
  /** Throws `unavailable` if this node has lost its lease. Its cached state may then be stale. */
  readonly assertLease: () => void
}

export class StoreCommitter implements Committer {
  readonly #services: CommitServices

  constructor(services: CommitServices) {
    this.#services = services
  }

  takesOwnEntry(pipelineId: string): boolean {
    return this.#services.rejections.takesOwnEntry(pipelineId)
  }

  fold(stored: StoredPipeline, entry: JournalEntry): string {
    return this.#services.rejections.fold(stored.organization.id, entry)
  }

  async entryOnly(event: EventContext, replayable: boolean): Promise<void> {
    const work = new StagedWork(event.entry.id)
    this.#stageEntry(work, event, replayable)
    await this.#services.store.commit(work.commit)
    this.announce(event.stored, event.entry)
  }

  announce(stored: StoredPipeline, entry: JournalEntry): void {
    this.#services.live().emit(stored.organization.id, announcementOf(entry), () => announcementId(entry))
  }

  commit(event: EventContext): Promise<SeenKey | undefined> {
    const { entry, execution, failure } = event
    const work = execution && !failure ? execution.work : new StagedWork(entry.id)
    if (execution) for (const write of execution.kept.writes) work.write(write)
    if (!failure) this.#stageAccepted(work, event)
    const followed = failure || event.event === null ? undefined : this.#services.accepted.stage(work, event.stored, event)
    return followed ? followed.then(() => this.#write(work, event)) : this.#write(work, event)
  }

  #write(work: StagedWork, event: EventContext): Promise<SeenKey | undefined> {
    this.#stageEntry(work, event, true)
    this.#services.assertLease()
    refuseEnded(event.loaded)
    return this.#services.store.commit(work.commit).then(
      (result) => (work.hasHooks ? this.#after(work, result, event.entry) : undefined),
      (fault: unknown) => this.#refused(event, fault),
    )
  }

  /** A failed hook cannot undo the commit or the answer. */
  async #after(work: StagedWork, result: CommitResult, entry: JournalEntry): Promise<undefined> {
    try {
      await work.committed(result)
    } catch (error) {
      this.#services.log.error({ err: error, execution: entry.id }, "an event is on disk, but a hook after its commit failed")
    }
  }

  /** Stages the effects of accepted events only: the deferred job and the deduplication key. */
  #stageAccepted(work: StagedWork, event: EventContext): void {
    const { stored, execution, entry } = event
    if (execution && execution.pendingSteps > 0) {
      const options = { organization: stored.organization.id, key: stored.id, id: deferredJobId(entry.id), remember: entry }
      this.#services.queue().enqueue(work, deferredJob, deferredPayload(execution, stored.revision, this.#services.vault), options)
    }
    if (event.claim) this.#services.dedupe.stage(work, event, event.reply ?? acceptedReply(entry.id))
  }

  #stageEntry(work: StagedWork, { stored, entry, visible, isReplay }: EventContext, replayable: boolean): void {
    const organization = stored.organization.id
    if (replayable && !isReplay) storePayload(work, organization, entry, visible, this.#services.payloadsDays)
    work.in(EntryCollection, organization).insert(storedEntry(entry))
    noteLate(work, organization, entry, this.#services.clock.now())
  }

  /** Handles a refused commit. If an action's write is the cause, the event failed. If storage is down, the event has no effect. */
  async #refused(event: EventContext, fault: unknown): Promise<SeenKey | undefined> {
    const error = asAppError(fault)
    const { claim, entry, execution, stored } = event
    const lost = error.code === "aborted" || error.code === "already_exists"
    if (!lost && isTransient(error)) throw fault
    if (claim && lost) {
      const seen = await this.#services.dedupe.find(stored, claim.id)
      if (seen) return seen
    }
    this.#services.log.warn({ err: error, execution: entry.id }, "the commit of an event was refused")
    noteCommitRefused(event, error)
    const work = new StagedWork(`${entry.id}:refused`)
    if (execution) for (const write of execution.kept.writes) work.write(write)
    this.#stageEntry(work, event, true)
    await this.#services.store.commit(work.commit)
    return undefined
  }
}
