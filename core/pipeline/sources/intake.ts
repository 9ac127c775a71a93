// Passes requests to the intake of a plugin after the usual verification and read. The plugin may split a request into many
// events. It journals them through this file.
import type { Reply } from "../../contract/action.ts"
import type { InboundRequest } from "../../contract/auth-mode.ts"
import type { Caller } from "../../contract/caller.ts"
import type { Json } from "../../contract/collection.ts"
import { StagedWork, type UnitOfWork } from "../../contract/unit-of-work.ts"
import { AppError } from "../../kernel/errors.ts"
import { exactJson } from "../../kernel/json.ts"
import type { EventResult } from "../engine.ts"
import { EventContext } from "../event/event.ts"
import { type LoadedPipeline, refuseEnded } from "../event/loaded-pipelines.ts"
import { isTransient } from "../event/reject.ts"
import type { Intake, IntakeJournal } from "../intake.ts"
import { EntryCollection, noteLate } from "../journal/collections.ts"
import { noteOutcome, notePayload } from "../journal/draft.ts"
import type { JournalEntry } from "../journal/entry.ts"
import { storedEntry } from "../journal/stored.ts"
import type { Stamper } from "../stamp/stamp.ts"
import { newEntry, type SourceServices } from "./source-services.ts"

export interface IntakeServices extends SourceServices {
  readonly stamp: Stamper
  readonly announce: (loaded: LoadedPipeline, entry: JournalEntry) => void
  readonly observe: (loaded: LoadedPipeline, entry: JournalEntry) => void
  readonly assertLease: () => void
}

export class IntakeSource {
  readonly #services: IntakeServices

  constructor(services: IntakeServices) {
    this.#services = services
  }

  take(intake: Intake, loaded: LoadedPipeline, request: InboundRequest, addressOf: () => string): Promise<Reply> {
    const { processor } = this.#services
    const entry = newEntry(this.#services, loaded, { receivedAtMs: request.receivedAt })
    const event = new EventContext({ loaded, entry, headers: request.headers, request, addressOf })
    return processor.process(
      event,
      processor.handedTo(() => this.#handOver(intake, event, request, addressOf())),
    )
  }

  /** Replays a journalled event. `draft` is the new entry. */
  async replay(
    intake: Intake,
    loaded: LoadedPipeline,
    entry: JournalEntry,
    draft: JournalEntry,
    caller: Pick<Caller, "log">,
  ): Promise<EventResult> {
    draft.payload_preview = entry.payload_preview
    const journal = this.#journal(loaded, draft)
    return await this.#services.processor.holding(loaded, () => intake.replay({ pipeline: loaded.stored, entry, caller, draft, journal }))
  }

  async #handOver(intake: Intake, event: EventContext, request: InboundRequest, address: string): Promise<Reply> {
    const { processor, stamp } = this.#services
    const { loaded, entry, visible } = event
    try {
      const reply = await intake.take({
        pipeline: loaded.stored,
        body: parsed(visible.body),
        headers: visible.headers,
        address,
        stamp: stamp(request.headers),
        isTest: event.isTest,
        receivedAt: request.receivedAt,
        id: entry.id,
        journal: this.#journal(loaded, entry),
      })
      // The intake counts the parts.
      event.isCounted = false
      return reply
    } catch (error) {
      if (!(error instanceof AppError) || isTransient(error) || error.code === "internal") throw error
      return await processor.reject.rejected(event, error)
    }
  }

  #journal(loaded: LoadedPipeline, whole: JournalEntry): IntakeJournal {
    const entries: JournalEntry[] = []
    const { store, clock, assertLease, announce, observe, processor } = this.#services
    const { stored } = loaded
    const organization = stored.organization.id
    const draft = (id: string, text: string): JournalEntry => {
      const entry = newEntry(this.#services, loaded, { id, receivedAtMs: Date.parse(whole.received_at) })
      entry.verdict = whole.verdict
      notePayload(entry, text)
      return entry
    }
    const reject: IntakeJournal["reject"] = (entry, cause, error, { folded = false } = {}) => {
      const own = processor.reject.rejectedPart(stored, entry, error, cause, folded)
      if (own) entries.push(entry)
      else observe(loaded, entry)
      return own
    }
    const accept = (entry: JournalEntry): void => {
      noteOutcome(entry, "accepted", "")
      entries.push(entry)
    }
    const commit = async (work: UnitOfWork): Promise<void> => {
      for (const entry of entries) {
        work.in(EntryCollection, organization).insert(storedEntry(entry))
        noteLate(work, organization, entry, clock.now())
      }
      assertLease()
      refuseEnded(loaded)
      const result = await store.commit({ id: work.id, writes: work.writes })
      if (work instanceof StagedWork) await work.committed(result)
      for (const entry of entries) {
        announce(loaded, entry)
        observe(loaded, entry)
      }
    }
    return { draft, accept, reject, commit }
  }
}

function parsed(text: string): Json {
  try {
    return exactJson(text) as Json
  } catch {
    throw new AppError("invalid_argument", "The body is not JSON.", { reason: "malformed_body" })
  }
}
