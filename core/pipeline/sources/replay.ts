// Replays a journalled event from its stored payload. The new entry refers to the first entry. Rows and idempotency keys are the
// same as in the first execution.
import type { Caller } from "../../contract/caller.ts"
import { PageEnvelope } from "../../contract/envelope.ts"
import { AppError } from "../../kernel/errors.ts"
import { derivedUuid } from "../../kernel/ids.ts"
import type { EventResult, ReplayOptions } from "../engine.ts"
import { parsedReply } from "../event/answer.ts"
import { EventContext } from "../event/event.ts"
import { EntryCollection } from "../journal/collections.ts"
import type { JournalEntry } from "../journal/entry.ts"
import { storedPayload } from "../journal/kept.ts"
import type { StoredPipeline } from "../source.ts"
import type { IntakeSource } from "./intake.ts"
import { newEntry, processInternal, refuseInactive, type SourceServices } from "./source-services.ts"

export class ReplaySource {
  readonly #services: SourceServices
  readonly #intakes: IntakeSource

  constructor(services: SourceServices, intakes: IntakeSource) {
    this.#services = services
    this.#intakes = intakes
  }

  async replay(
    stored: StoredPipeline,
    executionId: string,
    caller: Pick<Caller, "log">,
    { force = false, id }: ReplayOptions = {},
  ): Promise<EventResult> {
    const { store, pipelines } = this.#services
    const entry = await store.open(EntryCollection, stored.organization.id).get(executionId)
    if (!entry || entry.pipeline_id !== stored.id)
      throw new AppError("not_found", `The pipeline "${stored.slug}" has no execution ${executionId}.`, { reason: "execution_not_found" })
    if (!entry.verdict.ok)
      throw new AppError("failed_precondition", "An event that was not verified cannot be replayed.", {
        reason: "not_verified",
        cause: entry.verdict.cause,
      })
    refuseInactive(stored, force)
    const loaded = await pipelines.require(stored)
    const origin = await this.#originOf(stored, entry)
    const earlier = id === undefined ? undefined : await store.open(EntryCollection, stored.organization.id).get(id)
    if (earlier) return { execution_id: earlier.id, status: earlier.status, reply: parsedReply(earlier.response) }
    const draft = newEntry(this.#services, loaded, { depth: origin.depth, replayOf: origin.id, ...(id !== undefined && { id }) })
    draft.verdict = origin.verdict
    draft.forced = stored.document.state !== "active"
    caller.log.info({ execution: draft.id, replay_of: origin.id }, "replaying an event")
    if (loaded.intake) return await this.#intakes.replay(loaded.intake, loaded, entry, draft, caller)
    return await this.#again(loaded, origin, draft)
  }

  /** Returns the event's first execution. */
  async #originOf({ organization }: StoredPipeline, entry: JournalEntry): Promise<JournalEntry> {
    const id = entry.replay_of ?? entry.repeat_of ?? entry.id
    if (id === entry.id) return entry
    return (await this.#services.store.open(EntryCollection, organization.id).get(id)) ?? { ...entry, id }
  }

  async #again(loaded: EventContext["loaded"], origin: JournalEntry, draft: JournalEntry): Promise<EventResult> {
    const { store, clock, payloadsDays, processor } = this.#services
    const { stored } = loaded
    const kept = await storedPayload(store, stored.organization.id, origin, payloadsDays, clock.now())
    if (!kept) throw new AppError("failed_precondition", "The event's payload has expired.", { reason: "payload_expired" })
    draft.dedupe = origin.dedupe
    const event = new EventContext({ loaded, entry: draft, headers: kept.headers, visible: kept, origin, isTest: origin.is_test })
    if (origin.dedupe) event.identity = derivedUuid(stored.id, origin.dedupe.key)
    if (origin.envelope) event.envelopeOverride = PageEnvelope.parse(origin.envelope)
    return await processInternal(processor, event, processor.again)
  }
}
