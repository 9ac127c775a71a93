// The life of one event, from a read request to its answer: verify, deduplicate, validate and transform, stamp, run,
// commit, reply. Every way out leaves the entry that tells why; no 2xx is given before the commit.

import type { Reply } from "../../contract/action.ts"
import type { InboundRequest, Verdict } from "../../contract/auth-mode.ts"
import type { Json } from "../../contract/collection.ts"
import type { PageEnvelope } from "../../contract/envelope.ts"
import { type Clock, timestamp } from "../../kernel/clock.ts"
import type { CoreConfig } from "../../kernel/config-schema.ts"
import { AppError, asAppError } from "../../kernel/errors.ts"
import type { Ids } from "../../kernel/ids.ts"
import { derivedUuid } from "../../kernel/ids.ts"
import type { Logger } from "../../kernel/log.ts"
import { draftEntry, noteOutcome, notePayload, noteReply, noteTransformed, noteVerdict } from "../journal/draft.ts"
import type { JournalEntry } from "../journal/entry.ts"
import type { Rejections } from "../journal/rejections.ts"
import type { Sandbox, SandboxResult } from "../sandbox/sandbox.ts"
import { type Answer, answerError, answerReply, errorReply } from "./answer.ts"
import { type JsonBody, toJsonText } from "./body.ts"
import type { Conclude } from "./conclude.ts"
import type { Dedupe } from "./dedupe.ts"
import type { LivePipeline } from "./live-pipelines.ts"
import { queryOf, shownHeaders, withoutProof } from "./request.ts"
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
  readonly depth: number
}

type Accepted = Verdict & { ok: true }

export class EventLife {
  readonly #services: EventServices

  constructor(services: EventServices) {
    this.#services = services
  }

  /** Never throws; counts the event as under way on its pipeline until it is committed. */
  async handle(live: LivePipeline, request: InboundRequest): Promise<Answer> {
    live.underWay++
    const { clock, ids, config } = this.#services
    const entry = draftEntry({
      id: ids.uuid(),
      stored: live.stored,
      digest: live.graph.digest,
      receivedAtMs: request.receivedAt,
      entriesDays: config.retention.entries_days,
    })
    const started = clock.monotonic()
    try {
      return await this.#run({ live, request, entry, depth: 0 }, started)
    } catch (error) {
      return this.#broken(entry, error)
    } finally {
      if (--live.underWay === 0) live.idle?.()
      this.#services.observe(entry.status, entry.cause, entry.timings)
    }
  }

  /** A request refused before its body was read: its headers and size are all that the entry holds. */
  async refuse(live: LivePipeline, request: InboundRequest, error: AppError, size: number | undefined): Promise<Answer> {
    const entry = draftEntry({
      id: this.#services.ids.uuid(),
      stored: live.stored,
      digest: live.graph.digest,
      receivedAtMs: request.receivedAt,
      entriesDays: this.#services.config.retention.entries_days,
    })
    entry.payload_preview = JSON.stringify({ headers: shownHeaders(request.headers), size: size ?? null })
    return this.#rejected({ live, request, entry, depth: 0 }, error, String(error.details.reason ?? error.code))
  }

  async #run(arrival: Arrival, started: number): Promise<Answer> {
    const { live, request, entry } = arrival
    const { clock } = this.#services
    const verdict = live.verifier.verify(request)
    const settled = inTime("then" in verdict ? await verdict : verdict, live, request.receivedAt)
    noteVerdict(entry, settled)
    const verifiedAt = clock.monotonic()
    entry.timings["verify"] = verifiedAt - started
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
      return this.#rejected(arrival, refused, String(refused.details.reason ?? "malformed_body"))
    }
    notePayload(entry, body.text)
    const { dedupe } = live.graph
    if (!dedupe) return this.#transform(arrival, settled, body, undefined)
    return this.#deduplicated(arrival, settled, body)
  }

  async #deduplicated(arrival: Arrival, verdict: Accepted, body: JsonBody): Promise<Answer> {
    const { live, request, entry } = arrival
    const { dedupe } = live.graph
    if (!dedupe) throw new Error("unreachable: the graph does not deduplicate")
    let key: string
    try {
      key = dedupe.key({
        event: null,
        payload: live.graph.reads.payload ? (JSON.parse(body.text) as Json) : null,
        query: withoutProof(queryOf(request), verdict.proof?.query) as Json,
        headers: withoutProof(shownHeaders(request.headers), verdict.proof?.headers),
        envelope: { event_id: verdict.eventId ?? "", event_type: verdict.eventType ?? "", received_at: entry.received_at },
        steps: {},
        pipeline: { id: live.stored.id, slug: live.stored.slug, name: live.stored.document.name },
        organization: live.stored.organization,
      })
    } catch (error) {
      return this.#rejected(
        arrival,
        new AppError("invalid_argument", "The body is not JSON.", { reason: "malformed_body" }, { cause: error }),
        "malformed_body",
      )
    }
    // An event without a key is nobody's repeat.
    if (key === "") return this.#transform(arrival, verdict, body, undefined)
    const waitMs = (live.verifier.ackTimeoutS ?? 30) * 1_000
    const claim = await this.#services.dedupe.claim(live.stored, key, waitMs)
    if (claim.seen) return this.#repeat(arrival, key, claim.seen.execution_id, claim.seen.reply)
    entry.dedupe = { key, outcome: "first" }
    try {
      return await this.#transform(arrival, verdict, body, { id: claim.id, key })
    } catch (error) {
      const seen =
        error instanceof AppError && (error.code === "aborted" || error.code === "already_exists")
          ? await this.#services.dedupe.find(live.stored, claim.id)
          : undefined
      if (!seen) throw error
      return await this.#repeat(arrival, key, seen.execution_id, seen.reply)
    } finally {
      claim.release()
    }
  }

  async #repeat(arrival: Arrival, key: string, of: string, reply: Reply): Promise<Answer> {
    const { entry, live } = arrival
    entry.repeat_of = of
    entry.dedupe = { key, outcome: "repeat" }
    noteOutcome(entry, "accepted", "")
    noteReply(entry, reply)
    await this.#services.conclude.entryOnly(live.stored, entry)
    return answerReply(reply)
  }

  async #transform(arrival: Arrival, verdict: Accepted, body: JsonBody, seen: { id: string; key: string } | undefined): Promise<Answer> {
    const { live, request, entry, depth } = arrival
    const { sandbox, clock, config, conclude } = this.#services
    const began = clock.monotonic()
    const headers = withoutProof(shownHeaders(request.headers), verdict.proof?.headers)
    const query = withoutProof(queryOf(request), verdict.proof?.query)
    const strip = verdict.proof?.body
    const incoming = {
      live,
      body: body.text,
      rawHeaders: request.headers,
      headers,
      query,
      receivedAt: request.receivedAt,
      seed: entry.id,
      strip,
      over: verdict.claims as PageEnvelope | undefined,
    }
    const understood = await understand(
      { ...incoming, eventId: verdict.eventId ?? "", eventType: verdict.eventType ?? "" },
      sandbox,
      config.inbound.geo,
    )
    entry.timings["sandbox"] = clock.monotonic() - began
    const hidden = strip !== undefined && strip.length > 0
    if (hidden) notePayload(entry, understood.ok ? (understood.payloadText ?? "") : "(not shown: it holds the proof)")
    if (!understood.ok) return this.#refusedBySandbox(arrival, understood)
    entry.is_test = understood.isTest
    noteTransformed(entry, understood)
    return conclude.run({
      live,
      entry,
      depth,
      originId: entry.id,
      identity: seen ? derivedUuid(live.stored.id, seen.key) : entry.id,
      receivedAt: entry.received_at,
      event: understood.event,
      payload: understood.payload,
      query: query as Json,
      envelope: understood.envelope,
      stamp: understood.stamp,
      keep: { body: hidden ? (understood.payloadText ?? null) : body.text, headers, query },
      seenId: seen?.id,
    })
  }

  #refusedBySandbox(arrival: Arrival, result: SandboxResult & { ok: false }): Promise<Answer> | Answer {
    const { entry, live } = arrival
    if (result.kind === "malformed" || result.kind === "invalid") {
      entry.schema_errors = result.errors.map(({ pointer, message }) => ({ pointer, message }))
      const fields = result.errors.map(({ pointer, message }) => ({ path: pointer, message }))
      const reason = result.kind === "malformed" ? "malformed_body" : "schema_mismatch"
      return this.#rejected(arrival, new AppError("invalid_argument", result.message, { reason, fields }), reason)
    }
    if (result.kind === "unavailable")
      return answerError(new AppError("unavailable", "The event could not be processed now.", {}, { retryAfterS: result.retryAfterS ?? 1 }))
    if (result.kind === "penalty") {
      return this.#rejected(
        arrival,
        new AppError(
          "resource_exhausted",
          "This pipeline's code has run away repeatedly and is paused.",
          { reason: "penalty" },
          { retryAfterS: result.retryAfterS ?? 5 },
        ),
        "penalty",
        true,
      )
    }
    const causes = {
      threw: "transform_threw",
      timeout: "transform_timeout",
      memory: "transform_memory",
      bad_result: "transform_result",
    } as const
    const cause = causes[result.kind]
    noteOutcome(entry, "failed", cause, { code: "failed_precondition", message: result.message })
    const error = new AppError("failed_precondition", "The pipeline could not make sense of the event.", {
      reason: cause,
      cause: result.message,
      ...lineOf(result),
      execution_id: entry.id,
    })
    noteReply(entry, errorReply(error))
    return this.#services.conclude.entryOnly(live.stored, entry).then(() => answerError(error))
  }

  async #rejected(arrival: Arrival, error: AppError, cause: string, fold = false): Promise<Answer> {
    const { entry, live } = arrival
    noteOutcome(entry, "rejected", cause, { code: error.code, message: entry.verdict.message || error.message })
    noteReply(entry, errorReply(error))
    await this.#services.rejections.keep(live.stored.organization.id, entry, fold)
    return answerError(error)
  }

  #broken(entry: JournalEntry, error: unknown): Answer {
    const known = asAppError(error)
    if (known.code === "unavailable" || known.code === "resource_exhausted") {
      noteOutcome(entry, "failed", known.code)
      return answerError(
        new AppError(
          known.code,
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
