// Events from inside: `POST …/events`, `pipeline.send`, replays. The same life without an auth mode.

import type { Caller } from "../../contract/caller.ts"
import type { Json } from "../../contract/collection.ts"
import { PageEnvelope } from "../../contract/envelope.ts"
import type { Store } from "../../contract/store.ts"
import { AppError } from "../../kernel/errors.ts"
import { derivedUuid, derivedUuidInOrder } from "../../kernel/ids.ts"
import type { EventAnswer, InternalEvent } from "../engine.ts"
import { type Answer, answerError, errorReply } from "../event/answer.ts"
import type { LivePipeline, LivePipelines } from "../event/loaded-pipelines.ts"
import { oncePerKey } from "../event/once-per-key.ts"
import type { EventServices } from "../event/process.ts"
import { type Misunderstood, understand } from "../event/transform.ts"
import { EntryCollection } from "../journal/collections.ts"
import { draftEntry, noteOutcome, notePayload, noteReply, noteTiming, noteTransformed } from "../journal/draft.ts"
import type { JournalEntry } from "../journal/entry.ts"
import { keptEvent } from "../journal/kept.ts"
import type { StoredPipeline } from "../source.ts"
import { taggedAsTest } from "../stamp/stamp.ts"

export interface InternalServices extends EventServices {
  readonly store: Store
  readonly pipelines: LivePipelines
}

interface Given {
  readonly entry: JournalEntry
  readonly body: string
  readonly headers: Record<string, string>
  readonly query: Record<string, string | string[]>
  readonly originId: string
  readonly identity: string
  readonly receivedAt: string
  readonly isTest: boolean
  readonly depth: number
  readonly keep: boolean
  readonly known?: JournalEntry
  /** Of the deduplication key that this event holds. */
  readonly seenId?: string | undefined
}

const maxDepth = 5

export class InternalEvents {
  readonly #services: InternalServices

  constructor(services: InternalServices) {
    this.#services = services
  }

  async submit(stored: StoredPipeline, event: InternalEvent): Promise<EventAnswer> {
    const { clock, ids, config, store } = this.#services
    const depth = event.depth ?? 0
    if (depth > maxDepth)
      throw new AppError("failed_precondition", `Pipelines may send to pipelines at most ${maxDepth} deep; this event is at ${depth}.`, {
        retryable: false,
      })
    if (stored.document.state !== "active")
      throw new AppError(
        "failed_precondition",
        `The pipeline "${stored.slug}" is ${stored.document.state}; only an active one takes events.`,
        { reason: "not_active" },
      )
    const now = clock.now()
    const id = event.idempotencyKey === undefined ? ids.uuid() : derivedUuidInOrder(event.idempotencyKey, stored.id)
    if (event.idempotencyKey !== undefined) {
      const earlier = await store.open(EntryCollection, stored.organization.id).get(id)
      if (earlier) return { execution_id: id, status: earlier.status, reply: replyOf(earlier) }
    }
    const live = await this.#live(stored)
    const entry = draftEntry({
      id,
      stored,
      digest: live.graph.digest,
      receivedAtMs: now,
      entriesDays: config.retention.entries_days,
      depth,
    })
    entry.verdict = { ...entry.verdict, ok: true }
    const headers = event.headers ?? {}
    const isTest = event.isTest === true || taggedAsTest(headers)
    const given = {
      entry,
      body: JSON.stringify(event.payload),
      headers,
      query: {},
      originId: id,
      receivedAt: entry.received_at,
      isTest,
      depth,
    }
    return this.#counted(live, entry, () =>
      live.graph.dedupe
        ? oncePerKey({ live, ...given }, this.#services, (held) =>
            this.#process(live, { ...given, identity: held ? derivedUuid(stored.id, held.key) : id, keep: true, seenId: held?.id }),
          )
        : this.#process(live, { ...given, identity: id, keep: true }),
    )
  }

  /** Runs a journalled event again from the kept payload, as a new entry that names the first. */
  async replay(stored: StoredPipeline, executionId: string, caller: Caller): Promise<EventAnswer> {
    const { ids, config, store, clock } = this.#services
    const entry = await store.open(EntryCollection, stored.organization.id).get(executionId)
    if (!entry || entry.pipeline_id !== stored.id)
      throw new AppError("not_found", `The pipeline "${stored.slug}" has no execution ${executionId}.`)
    if (!entry.verdict.ok)
      throw new AppError("failed_precondition", "An event that was not verified cannot be replayed.", {
        reason: "not_verified",
        cause: entry.verdict.cause,
      })
    const originId = entry.replay_of ?? entry.repeat_of ?? entry.id
    const origin = originId === entry.id ? entry : ((await store.open(EntryCollection, stored.organization.id).get(originId)) ?? entry)
    const payload = await keptEvent(store, stored.organization.id, origin, config.retention.payloads_days, clock.now())
    if (!payload) throw new AppError("failed_precondition", "The event's payload is no longer kept.", { reason: "payload_gone" })
    const live = await this.#live(stored)
    const draft = draftEntry({
      id: ids.uuid(),
      stored,
      digest: live.graph.digest,
      receivedAtMs: clock.now(),
      entriesDays: config.retention.entries_days,
      depth: origin.depth,
      replayOf: originId,
    })
    draft.verdict = origin.verdict
    draft.dedupe = origin.dedupe
    caller.log.info({ execution: draft.id, replay_of: originId }, "replaying an event")
    const identity = origin.dedupe ? derivedUuid(stored.id, origin.dedupe.key) : originId
    const { body, headers, query } = payload
    const given: Given = {
      entry: draft,
      body,
      headers,
      query,
      originId,
      identity,
      receivedAt: origin.received_at,
      isTest: origin.is_test,
      depth: origin.depth,
      keep: false,
      known: origin,
    }
    return this.#counted(live, draft, () => this.#process(live, given))
  }

  async #live(stored: StoredPipeline): Promise<LivePipeline> {
    const live = await this.#services.pipelines.of(stored)
    if (!live)
      throw new AppError("failed_precondition", `The pipeline "${stored.slug}" does not compile with the plugins that are loaded.`, {
        reason: "does_not_compile",
      })
    return live
  }

  async #counted(live: LivePipeline, entry: JournalEntry, run: () => Promise<Answer>): Promise<EventAnswer> {
    live.underWay++
    try {
      const answer = await run()
      return {
        execution_id: entry.id,
        status: entry.status,
        reply: { status: answer.status, headers: answer.headers ?? {}, body: parsed(answer.body) },
      }
    } finally {
      if (--live.underWay === 0) live.idle?.()
      this.#services.observe(entry.status, entry.cause, entry.timings)
    }
  }

  async #process(live: LivePipeline, given: Given): Promise<Answer> {
    const { entry, body, headers, query } = given
    const { sandbox, conclude, config, clock } = this.#services
    notePayload(entry, body)
    const began = clock.monotonic()
    const { known } = given
    const over = known?.envelope ? PageEnvelope.parse(known.envelope) : undefined
    const event = { eventId: entry.verdict.event_id ?? "", eventType: entry.verdict.event_type ?? "" }
    const incoming = {
      live,
      body,
      rawHeaders: headers,
      headers,
      query,
      receivedAt: Date.parse(given.receivedAt),
      seed: given.originId,
      over,
      isTest: given.isTest,
      ...event,
    }
    const understood = await understand(incoming, sandbox, config.inbound.geo)
    noteTiming(entry, "sandbox", clock.monotonic() - began)
    if (!understood.ok) return this.#refused(live, given, understood)
    entry.is_test = understood.isTest
    noteTransformed(entry, understood)
    return conclude.run({
      live,
      entry,
      depth: given.depth,
      originId: given.originId,
      identity: given.identity,
      receivedAt: given.receivedAt,
      event: understood.event,
      payload: understood.payload,
      query,
      envelope: understood.envelope,
      stamp: understood.stamp,
      keep: given.keep ? { body, headers, query } : undefined,
      seenId: given.seenId,
    })
  }

  async #refused(live: LivePipeline, given: Given, result: Misunderstood): Promise<Answer> {
    const { entry } = given
    if (result.kind === "unavailable" || result.kind === "penalty") {
      throw new AppError(
        result.kind === "penalty" ? "resource_exhausted" : "unavailable",
        result.message,
        {},
        { retryAfterS: result.retryAfterS ?? 1 },
      )
    }
    const mismatch = result.kind === "malformed" || result.kind === "invalid"
    const fields = mismatch ? result.errors.map(({ pointer, message }) => ({ path: pointer, message })) : []
    if (mismatch) entry.schema_errors = result.errors.map(({ pointer, message }) => ({ pointer, message }))
    const error = new AppError(mismatch ? "invalid_argument" : "failed_precondition", result.message, {
      reason: mismatch ? "schema_mismatch" : `transform_${result.kind}`,
      execution_id: entry.id,
      ...(mismatch ? { fields } : {}),
    })
    noteOutcome(entry, mismatch ? "rejected" : "failed", String(error.details.reason), { code: error.code, message: error.message })
    noteReply(entry, errorReply(error))
    entry.is_test = given.isTest
    const keep = given.keep ? { body: given.body, headers: given.headers, query: given.query } : undefined
    await this.#services.conclude.entryOnly(live.stored, entry, keep)
    return answerError(error)
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

function replyOf(entry: JournalEntry): EventAnswer["reply"] {
  return { status: entry.response?.status ?? 200, headers: {}, body: parsed(entry.response?.body ?? "") }
}
