// The end of an event: everything that it leaves behind goes into one commit, and only then is it announced.
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

/** Where events end. A dry run has one of its own, which keeps nothing. */
export interface Committer {
  /** Whether a rejection of this pipeline still gets an entry of its own in this minute; counts it when so. */
  takesOwnEntry(pipelineId: string): boolean
  /** Counts the entry in the minute's one entry for its cause, and returns that one's id. */
  fold(stored: StoredPipeline, entry: JournalEntry): string
  /** Writes the entry alone; `replayable`: with what the event came with. */
  entryOnly(event: EventContext, replayable: boolean): Promise<void>
  /** Writes all that the event leaves behind. Resolves to the accepted event that it repeats, where another node was first. Throws when nothing could be kept. */
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
  /** Throws `unavailable` when this node may not act on what it remembers. */
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

  /** What follows a commit cannot undo it, nor the answer. */
  async #after(work: StagedWork, result: CommitResult, entry: JournalEntry): Promise<undefined> {
    try {
      await work.committed(result)
    } catch (error) {
      this.#services.log.error({ err: error, execution: entry.id }, "an event is on disk, but a hook after its commit failed")
    }
  }

  /** What only an accepted event leaves behind: its deferred job, its deduplication key. */
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

  /** The commit itself was refused: by a write of an action (then the event failed), or because storage is down (then nothing happened). */
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
