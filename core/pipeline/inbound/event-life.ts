// The life of one event, from a read request to its answer: verify, deduplicate, validate and transform, stamp, run,
// commit, reply. Every way out leaves the entry that tells why; no 2xx is given before the commit.

import type { InboundRequest, Verdict } from "../../contract/auth-mode.ts"
import type { Json } from "../../contract/collection.ts"
import type { PageEnvelope } from "../../contract/envelope.ts"
import { type Clock, timestamp } from "../../kernel/clock.ts"
import type { CoreConfig } from "../../kernel/config-schema.ts"
import { AppError, asAppError } from "../../kernel/errors.ts"
import type { Ids } from "../../kernel/ids.ts"
import { derivedUuid } from "../../kernel/ids.ts"
import type { Logger } from "../../kernel/log.ts"
import { draftEntry, noteOutcome, notePayload, noteReply, noteTiming, noteTransformed, noteVerdict } from "../journal/draft.ts"
import type { JournalEntry } from "../journal/entry.ts"
import type { KeptEvent } from "../journal/kept.ts"
import type { Rejections } from "../journal/rejections.ts"
import type { Sandbox, SandboxResult } from "../sandbox/sandbox.ts"
import { taggedAsTest } from "../stamp/stamp.ts"
import { type Answer, answerError, errorReply } from "./answer.ts"
import { type JsonBody, toJsonText } from "./body.ts"
import type { Conclude } from "./conclude.ts"
import type { Dedupe } from "./dedupe.ts"
import type { LivePipeline } from "./live-pipelines.ts"
import { type Held, oncePerKey } from "./once-per-key.ts"
import { headersAndSize, queryOf, shownHeaders, withoutFields, withoutProof } from "./request.ts"
import { understand } from "./understand.ts"

export interface EventServices {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Logger
  readonly sandbox: Sandbox
  readonly dedupe: Dedupe
  readonly rejections: Rejections
  readonly conclude: Conclude
  readonly config: CoreConfig
  readonly observe: (status: JournalEntry["status"], cause: string, stage: Record<string, number>) => void
  /** Throws `unavailable` when this node may not act on what it remembers. */
  readonly assertLive: () => void
}

/** What came in, as far as it is known before the body is understood. */
interface Arrival {
  readonly live: LivePipeline
  readonly request: InboundRequest
  readonly entry: JournalEntry
}

/** What is known once the auth mode has said yes; without proof. */
interface Verified {
  readonly verdict: Verdict & { ok: true }
  /** JSON text as it came, proof fields included where `verdict` names some. */
  readonly body: string
  /** JSON text without them. */
  readonly shown: string
  readonly headers: Record<string, string>
  readonly query: Record<string, string | string[]>
}

const transformCauses = {
  threw: "transform_threw",
  timeout: "transform_timeout",
  memory: "transform_memory",
  bad_result: "transform_result",
} as const

export class EventLife {
  readonly #services: EventServices

  constructor(services: EventServices) {
    this.#services = services
  }

  /** Never throws; counts the event as under way on its pipeline until it is committed. */
  async handle(live: LivePipeline, request: InboundRequest): Promise<Answer> {
    live.underWay++
    const entry = this.#draft(live, request.receivedAt)
    try {
      return await this.#run({ live, request, entry }, this.#services.clock.monotonic())
    } catch (error) {
      return this.#broken(entry, error)
    } finally {
      this.#left(live, entry)
    }
  }

  /** A request refused before its body was read: its headers and size are all that the entry holds. */
  async refuse(live: LivePipeline, request: InboundRequest, error: AppError, size: number | undefined): Promise<Answer> {
    live.underWay++
    const entry = this.#draft(live, request.receivedAt)
    entry.payload_preview = headersAndSize(request.headers, size)
    try {
      return await this.#rejected({ live, request, entry }, error, String(error.details.reason ?? error.code))
    } catch (fault) {
      return this.#broken(entry, fault)
    } finally {
      this.#left(live, entry)
    }
  }

  /** An event that there is no room for: counted in one entry a minute. */
  turnAway(live: LivePipeline, receivedAt: number, error: AppError): void {
    const entry = this.#draft(live, receivedAt)
    noteOutcome(entry, "rejected", "too_many", { code: error.code, message: error.message })
    noteReply(entry, errorReply(error))
    this.#services.rejections.fold(live.stored.organization.id, entry)
    this.#services.observe(entry.status, entry.cause, entry.timings)
  }

  #draft(live: LivePipeline, receivedAtMs: number): JournalEntry {
    const { ids, config } = this.#services
    const { stored, graph } = live
    return draftEntry({ id: ids.uuid(), stored, digest: graph.digest, receivedAtMs, entriesDays: config.retention.entries_days })
  }

  #left(live: LivePipeline, entry: JournalEntry): void {
    if (--live.underWay === 0) live.idle?.()
    this.#services.observe(entry.status, entry.cause, entry.timings)
  }

  async #run(arrival: Arrival, started: number): Promise<Answer> {
    const { live, request, entry } = arrival
    const { clock } = this.#services
    const verdict = live.verifier.verify(request)
    const settled = inTime("then" in verdict ? await verdict : verdict, live, request.receivedAt)
    noteVerdict(entry, settled)
    noteTiming(entry, "verify", clock.monotonic() - started)
    if (!settled.ok) {
      const error = new AppError("unauthenticated", "The event could not be verified.", {})
      return this.#rejected(arrival, error, settled.cause)
    }
    let body: JsonBody
    try {
      const read = toJsonText(request.body, one(request.headers["content-type"]))
      body = "then" in read ? await read : read
    } catch (error) {
      const refused = asAppError(error)
      entry.payload_preview = headersAndSize(request.headers, request.body.length)
      return this.#rejected(arrival, refused, String(refused.details.reason ?? "malformed_body"))
    }
    const strip = settled.proof?.body
    const hidden = strip !== undefined && strip.length > 0
    const shown = hidden ? withoutFields(body.text, strip) : body.text
    notePayload(entry, shown ?? "(not shown: it holds the proof, and is no JSON)")
    const verified: Verified = {
      verdict: settled,
      body: body.text,
      shown: shown ?? "",
      headers: withoutProof(shownHeaders(request.headers), settled.proof?.headers),
      query: withoutProof(queryOf(request), settled.proof?.query),
    }
    if (!live.graph.dedupe) return this.#transform(arrival, verified, undefined)
    return this.#deduplicated(arrival, verified)
  }

  async #deduplicated(arrival: Arrival, verified: Verified): Promise<Answer> {
    const { live, entry, request } = arrival
    const { shown, headers, query } = verified
    const isTest = taggedAsTest(request.headers)
    try {
      const event = { live, entry, body: shown, query: query as Json, headers, isTest }
      return await oncePerKey(event, this.#services, (held) => this.#transform(arrival, verified, held))
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "invalid_argument") throw error
      return this.#rejected(arrival, error, String(error.details.reason))
    }
  }

  async #transform(arrival: Arrival, verified: Verified, held: Held | undefined): Promise<Answer> {
    const { live, request, entry } = arrival
    const { sandbox, clock, config, conclude } = this.#services
    const { verdict, body, headers, query } = verified
    const began = clock.monotonic()
    const strip = verdict.proof?.body
    const incoming = {
      live,
      body,
      rawHeaders: request.headers,
      headers,
      query,
      receivedAt: request.receivedAt,
      seed: entry.id,
      strip,
      over: verdict.claims as PageEnvelope | undefined,
      eventId: verdict.eventId ?? "",
      eventType: verdict.eventType ?? "",
    }
    const understood = await understand(incoming, sandbox, config.inbound.geo)
    noteTiming(entry, "sandbox", clock.monotonic() - began)
    const hidden = strip !== undefined && strip.length > 0
    if (!understood.ok) return this.#refusedBySandbox(arrival, verified, understood)
    entry.is_test = understood.isTest
    noteTransformed(entry, understood)
    return conclude.run({
      live,
      entry,
      depth: 0,
      originId: entry.id,
      identity: held ? derivedUuid(live.stored.id, held.key) : entry.id,
      receivedAt: entry.received_at,
      event: understood.event,
      payload: understood.payload,
      query: query as Json,
      envelope: understood.envelope,
      stamp: understood.stamp,
      keep: { body: hidden ? (understood.payloadText ?? null) : body, headers, query },
      seenId: held?.id,
    })
  }

  #refusedBySandbox(
    arrival: Arrival,
    { shown, headers, query }: Verified,
    result: SandboxResult & { ok: false },
  ): Promise<Answer> | Answer {
    const { entry, live, request } = arrival
    if (result.kind === "unavailable") {
      noteOutcome(entry, "failed", "unavailable")
      return answerError(new AppError("unavailable", "The event could not be processed now.", {}, { retryAfterS: result.retryAfterS ?? 1 }))
    }
    entry.is_test = taggedAsTest(request.headers)
    if (result.kind === "malformed" || result.kind === "invalid") {
      entry.schema_errors = result.errors.map(({ pointer, message }) => ({ pointer, message }))
      const fields = result.errors.map(({ pointer, message }) => ({ path: pointer, message }))
      const reason = result.kind === "malformed" ? "malformed_body" : "schema_mismatch"
      const keep = result.kind === "malformed" ? undefined : { body: shown, headers, query }
      return this.#rejected(arrival, new AppError("invalid_argument", result.message, { reason, fields }), reason, keep)
    }
    if (result.kind === "penalty") {
      const message = "This pipeline's code has run away repeatedly and is paused."
      const error = new AppError("resource_exhausted", message, { reason: "penalty" }, { retryAfterS: result.retryAfterS ?? 5 })
      noteOutcome(entry, "rejected", "penalty", { code: error.code, message })
      noteReply(entry, errorReply(error))
      this.#services.rejections.fold(live.stored.organization.id, entry)
      return answerError(error)
    }
    const cause = transformCauses[result.kind]
    noteOutcome(entry, "failed", cause, { code: "failed_precondition", message: result.message })
    const error = new AppError("failed_precondition", "The pipeline could not make sense of the event.", {
      reason: cause,
      cause: result.message,
      ...lineOf(result),
      execution_id: entry.id,
    })
    noteReply(entry, errorReply(error))
    return this.#services.conclude.entryOnly(live.stored, entry, { body: shown, headers, query }).then(() => answerError(error))
  }

  async #rejected(arrival: Arrival, error: AppError, cause: string, keep?: KeptEvent): Promise<Answer> {
    const { entry, live } = arrival
    noteOutcome(entry, "rejected", cause, { code: error.code, message: entry.verdict.message || error.message })
    noteReply(entry, errorReply(error))
    const { rejections, conclude } = this.#services
    if (rejections.takesOwnEntry(entry.pipeline_id)) await conclude.entryOnly(live.stored, entry, keep)
    else rejections.fold(live.stored.organization.id, entry)
    return answerError(error)
  }

  #broken(entry: JournalEntry, error: unknown): Answer {
    const known = asAppError(error)
    if (known.code === "unavailable" || known.code === "resource_exhausted" || known.code === "deadline_exceeded") {
      noteOutcome(entry, "failed", "unavailable")
      return answerError(
        new AppError(
          "unavailable",
          "The event could not be stored now; send it again.",
          { reason: known.details.reason ?? known.code },
          { retryAfterS: known.retryAfterS ?? 1 },
        ),
      )
    }
    this.#services.log.error({ err: error, execution: entry.id }, "an event broke its way through the engine")
    noteOutcome(entry, "failed", "internal")
    return answerError(
      new AppError("internal", "Something went wrong on our side.", { execution_id: entry.id, at: timestamp(this.#services.clock.now()) }),
    )
  }
}

function lineOf(result: SandboxResult): { line?: number } {
  return "line" in result && result.line !== undefined ? { line: result.line } : {}
}

/** A secret that was rotated out counts until its overlap ends, whenever the pipeline was prepared. */
function inTime(verdict: Verdict, live: LivePipeline, now: number): Verdict {
  if (!verdict.ok || verdict.secretId === undefined) return verdict
  const endsAt = live.stored.secrets.find((secret) => secret.id === verdict.secretId)?.endsAt
  if (endsAt === undefined || endsAt > now) return verdict
  return { ok: false, cause: "wrong_secret", message: "The secret was rotated out and its overlap is over." }
}

function one(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" ? value : value?.[0]
}
