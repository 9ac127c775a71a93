// Internal events of `POST …/events` and `pipeline.send`. They skip verification. Otherwise they are like external events.
import { AppError } from "../../kernel/errors.ts"
import { derivedUuidInOrder } from "../../kernel/ids.ts"
import type { EventResult, InternalEvent } from "../engine.ts"
import { parsedReply } from "../event/answer.ts"
import { EventContext } from "../event/event.ts"
import { EntryCollection } from "../journal/collections.ts"
import type { StoredPipeline } from "../source.ts"
import { newEntry, processInternal, refuseInactive, type SourceServices } from "./source-services.ts"

const maxDepth = 5

export class InternalSource {
  readonly #services: SourceServices

  constructor(services: SourceServices) {
    this.#services = services
  }

  async submit(stored: StoredPipeline, given: InternalEvent): Promise<EventResult> {
    const { store, processor, pipelines } = this.#services
    const { depth = 0, headers = {}, idempotencyKey, force = false } = given
    if (depth > maxDepth)
      throw new AppError("failed_precondition", `Pipelines can be chained at most ${maxDepth} deep; this event is at ${depth}.`, {
        reason: "too_deep",
        retryable: false,
      })
    refuseInactive(stored, force)
    this.#services.pauses.refuse(stored.organization.id)
    const id = idempotencyKey === undefined ? undefined : derivedUuidInOrder(idempotencyKey, stored.id)
    const earlier = id === undefined ? undefined : await store.open(EntryCollection, stored.organization.id).get(id)
    if (earlier) return { execution_id: earlier.id, status: earlier.status, reply: parsedReply(earlier.response) }
    const loaded = await pipelines.require(stored)
    const entry = newEntry(this.#services, loaded, { depth, ...(id === undefined ? {} : { id }) })
    entry.verdict = { ...entry.verdict, ok: true }
    entry.forced = stored.document.state !== "active"
    const visible = { body: JSON.stringify(given.payload), headers: { ...headers }, query: {} }
    const event = new EventContext({ loaded, entry, headers, visible, isTest: given.isTest === true, dataSince: given.dataSince })
    return await processInternal(processor, event, processor.fromInside)
  }
}
