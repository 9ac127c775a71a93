// Recognises repeats of an event by the dedupe key of its document. Only an accepted event stores a key. A repeat waits for an
// event in flight with the same key.
import type { Reply } from "../../contract/action.ts"
import type { Json } from "../../contract/collection.ts"
import type { Store } from "../../contract/store.ts"
import type { UnitOfWork } from "../../contract/unit-of-work.ts"
import { type Clock, timestamp } from "../../kernel/clock.ts"
import { AppError, asAppError } from "../../kernel/errors.ts"
import { derivedUuid } from "../../kernel/ids.ts"
import { exactJson } from "../../kernel/json.ts"
import type { TemplateScope } from "../graph.ts"
import { SeenCollection, type SeenKey } from "../journal/collections.ts"
import { noteOutcome } from "../journal/draft.ts"
import type { StoredPipeline } from "../source.ts"
import { turnUnits } from "../template/meter.ts"
import { StepBudget, type TemplateRenderer } from "../template/renderer.ts"
import type { EventContext } from "./event.ts"

/** A deduplication key, claimed by an event until its end. */
export interface Claim {
  /** Id of the key's record. */
  readonly id: string
  readonly release: () => void
}

export class Dedupe {
  readonly #store: Store
  readonly #clock: Clock
  readonly #renderer: TemplateRenderer
  readonly #inFlight = new Map<string, Promise<void>>()

  constructor(store: Store, clock: Clock, renderer: TemplateRenderer) {
    this.#store = store
    this.#clock = clock
    this.#renderer = renderer
  }

  /**
   * Claims the event's key. Waits while another event has the claim. Resolves to the accepted event with the same key, if one
   * exists in the window. Throws `invalid_argument` if the key cannot be rendered.
   */
  claim(event: EventContext): undefined | Promise<SeenKey | undefined> {
    const key = keyOf(event, this.#renderer)
    if (key === "") return undefined
    return typeof key === "string" ? this.#claim(event, key) : key.then((rendered) => this.#claim(event, rendered))
  }

  async #claim(event: EventContext, key: string): Promise<SeenKey | undefined> {
    if (key === "") return undefined
    const { stored, loaded } = event
    event.entry.dedupe = { key, outcome: "first" }
    const id = derivedUuid(stored.id, key)
    const deadline = this.#clock.monotonic() + (loaded.verifier.ackTimeoutS ?? 30) * 1_000
    for (let other = this.#inFlight.get(id); other; other = this.#inFlight.get(id)) {
      const left = deadline - this.#clock.monotonic()
      if (left <= 0) break
      await Promise.race([other, new Promise<void>((resolve) => this.#clock.after(left, resolve))])
    }
    const { promise: held, resolve: settle } = Promise.withResolvers<void>()
    this.#inFlight.set(id, held)
    // Released at every end of the event.
    event.claim = {
      id,
      release: () => {
        if (this.#inFlight.get(id) === held) this.#inFlight.delete(id)
        settle()
      },
    }
    event.identity = id
    return this.find(stored, id)
  }

  async find(pipeline: StoredPipeline, id: string): Promise<SeenKey | undefined> {
    const seen = await this.#store.open(SeenCollection, pipeline.organization.id).get(id)
    return seen && Date.parse(seen.expires_at) > this.#clock.now() ? seen : undefined
  }

  /**
   * Stages the key with the event's commit. The commit fails with `aborted` or `already_exists` if another node accepted the
   * event first.
   */
  stage(work: UnitOfWork, { claim, stored, graph, entry }: EventContext, reply: Reply): void {
    if (!claim || !graph.dedupe) return
    const now = this.#clock.now()
    work.in(SeenCollection, stored.organization.id).update(
      claim.id,
      {
        $set: {
          execution_id: entry.id,
          is_test: entry.is_test,
          reply: { status: reply.status, headers: { ...reply.headers }, body: reply.body } as Json,
          expires_at: timestamp(now + graph.dedupe.windowMs),
        },
      },
      { upsert: true, where: { expires_at: { $lte: timestamp(now) } } },
    )
  }
}

/** Marks the entry as a repeat, and discards the event's staged effects. */
export function noteRepeat({ entry, isTest }: EventContext, seen: SeenKey): void {
  entry.repeat_of = seen.execution_id
  if (entry.dedupe) entry.dedupe = { key: entry.dedupe.key, outcome: "repeat" }
  entry.is_test = isTest || seen.is_test === true
  entry.steps = {}
  entry.rows = []
  noteOutcome(entry, "accepted", "")
}

function keyOf({ graph, entry, visible, query, stored }: EventContext, renderer: TemplateRenderer): string | Promise<string> {
  const { dedupe, reads } = graph
  if (!dedupe) return ""
  let payload: Json = null
  if (reads.payload) {
    try {
      payload = exactJson(visible.body) as Json
    } catch (cause) {
      throw new AppError("invalid_argument", "The body is not JSON.", { reason: "malformed_body" }, { cause })
    }
  }
  const { event_id, event_type } = entry.verdict
  const scope: TemplateScope = {
    event: null,
    payload,
    query,
    headers: visible.headers,
    envelope: { event_id: event_id ?? "", event_type: event_type ?? "", received_at: entry.received_at },
    steps: {},
    pipeline: { id: stored.id, slug: stored.slug, name: stored.document.name },
    organization: stored.organization,
  }
  try {
    const key = renderer.render(dedupe.key, scope, new StepBudget(stored.organization.id, { templateUnits: turnUnits }))
    return typeof key === "string" ? key : key.catch(noKey)
  } catch (cause) {
    return noKey(cause)
  }
}

function noKey(cause: unknown): never {
  const message = `The deduplication key cannot be rendered from this event: ${asAppError(cause).message}`
  throw new AppError("invalid_argument", message, { reason: "dedupe_key" }, { cause })
}
