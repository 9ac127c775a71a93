// Runs an event once for its deduplication key: the first one with a key runs, its repeats are answered as it was. The
// same for events from outside and from inside.
import type { Reply } from "../../contract/action.ts"
import type { Json } from "../../contract/collection.ts"
import { AppError, asAppError } from "../../kernel/errors.ts"
import type { TemplateScope } from "../graph.ts"
import type { SeenKey } from "../journal/collections.ts"
import { noteOutcome, noteReply } from "../journal/draft.ts"
import type { JournalEntry } from "../journal/entry.ts"
import { turnUnits } from "../template/meter.ts"
import { StepBudget, type TemplateRenderer } from "../template/renderer.ts"
import { type Answer, answerReply } from "./answer.ts"
import type { Conclude } from "./commit.ts"
import { type Dedupe, RepeatedEvent } from "./dedupe.ts"
import type { LivePipeline } from "./loaded-pipelines.ts"

export interface KeyedEvent {
  readonly live: LivePipeline
  readonly entry: JournalEntry
  /** JSON text, without proof. Parsed only when the key reads it. */
  readonly body: string
  readonly query: Json
  readonly headers: Readonly<Record<string, string>>
  readonly isTest: boolean
}

interface Services {
  readonly dedupe: Dedupe
  readonly conclude: Conclude
  readonly renderer: TemplateRenderer
}

export interface Held {
  /** Of the key's record. */
  readonly id: string
  readonly key: string
}

/** `run` gets undefined for an event without a key: it is nobody's repeat. Throws AppError `invalid_argument` where the key cannot be made. */
export async function oncePerKey(event: KeyedEvent, services: Services, run: (held: Held | undefined) => Promise<Answer>): Promise<Answer> {
  const { live, entry } = event
  const rendered = keyOf(event, services.renderer)
  const key = typeof rendered === "string" ? rendered : await rendered
  if (key === "") return run(undefined)
  const waitMs = (live.verifier.ackTimeoutS ?? 30) * 1_000
  const claim = await services.dedupe.claim(live.stored, key, waitMs)
  if (claim.seen) return repeat(event, key, claim.seen, services.conclude)
  entry.dedupe = { key, outcome: "first" }
  try {
    return await run({ id: claim.id, key })
  } catch (error) {
    if (error instanceof RepeatedEvent) return await repeat(event, key, error.seen, services.conclude)
    throw error
  } finally {
    claim.release()
  }
}

function keyOf({ live, entry, body, query, headers }: KeyedEvent, renderer: TemplateRenderer): string | Promise<string> {
  const { dedupe, reads } = live.graph
  if (!dedupe) return ""
  let payload: Json = null
  if (reads.payload) {
    try {
      payload = JSON.parse(body) as Json
    } catch (cause) {
      throw new AppError("invalid_argument", "The body is not JSON.", { reason: "malformed_body" }, { cause })
    }
  }
  const { event_id, event_type } = entry.verdict
  const scope: TemplateScope = {
    event: null,
    payload,
    query,
    headers,
    envelope: { event_id: event_id ?? "", event_type: event_type ?? "", received_at: entry.received_at },
    steps: {},
    pipeline: { id: live.stored.id, slug: live.stored.slug, name: live.stored.document.name },
    organization: live.stored.organization,
  }
  try {
    const key = renderer.render(dedupe.key, scope, new StepBudget(live.stored.organization.id, { templateUnits: turnUnits }))
    return typeof key === "string" ? key : key.catch(noKey)
  } catch (cause) {
    return noKey(cause)
  }
}

function noKey(cause: unknown): never {
  const message = `The deduplication key cannot be made of this event: ${asAppError(cause).message}`
  throw new AppError("invalid_argument", message, { reason: "dedupe_key" }, { cause })
}

/** Answered as the first was, and journalled as its repeat; nothing that it may have staged is kept. */
async function repeat({ live, entry, isTest }: KeyedEvent, key: string, seen: SeenKey, conclude: Conclude): Promise<Answer> {
  const reply: Reply = seen.reply
  entry.repeat_of = seen.execution_id
  entry.dedupe = { key, outcome: "repeat" }
  entry.is_test = isTest || seen.is_test === true
  entry.steps = {}
  entry.rows = []
  noteOutcome(entry, "accepted", "")
  noteReply(entry, reply)
  await conclude.entryOnly(live.stored, entry)
  return answerReply(reply)
}
