// The life of one event, from a read request to its answer: verify, deduplicate, validate and transform, stamp, run,
// commit, reply. Every way out leaves the entry that tells why; no 2xx is given before the commit.

import type { InboundRequest, Verdict } from "../../contract/auth-mode.ts"
import type { Json } from "../../contract/collection.ts"
import type { PageEnvelope } from "../../contract/envelope.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { CoreConfig } from "../../kernel/config-schema.ts"
import { AppError, asAppError } from "../../kernel/errors.ts"
import type { Ids } from "../../kernel/ids.ts"
import { derivedUuid } from "../../kernel/ids.ts"
import type { Logger } from "../../kernel/log.ts"
import { inStage, isTracing } from "../../kernel/tracing.ts"
import { draftEntry, notePayload, noteTiming, noteTransformed, noteVerdict } from "../journal/draft.ts"
import type { JournalEntry } from "../journal/entry.ts"
import type { Rejections } from "../journal/rejections.ts"
import type { Sandbox } from "../sandbox/sandbox.ts"
import { taggedAsTest } from "../stamp/stamp.ts"
import type { TemplateRenderer } from "../template/renderer.ts"
import type { Answer } from "./answer.ts"
import { type JsonBody, toJsonText } from "./body.ts"
import type { Conclude } from "./commit.ts"
import type { Dedupe } from "./dedupe.ts"
import type { LivePipeline } from "./loaded-pipelines.ts"
import { type Held, oncePerKey } from "./once-per-key.ts"
import { Refusals } from "./reject.ts"
import { headersAndSize, queryOf, shownHeaders, withoutFields, withoutProof } from "./request.ts"
import { tracedEvent } from "./traced-event.ts"
import { understand } from "./transform.ts"

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
  readonly renderer: TemplateRenderer
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

export class EventLife {
  readonly #services: EventServices
  readonly #refusals: Refusals

  constructor(services: EventServices) {
    this.#services = services
    this.#refusals = new Refusals(services)
  }

  /** Never throws; counts the event as under way on its pipeline until it is committed. */
  handle(live: LivePipeline, request: InboundRequest): Promise<Answer> {
    return isTracing() ? tracedEvent(live, request, (ended) => this.#handle(live, request, ended)) : this.#handle(live, request)
  }

  async #handle(live: LivePipeline, request: InboundRequest, ended?: (entry: JournalEntry) => void): Promise<Answer> {
    live.underWay++
    const entry = this.#draft(live, request.receivedAt)
    try {
      return await this.#run({ live, request, entry }, this.#services.clock.monotonic())
    } catch (error) {
      return this.#refusals.broken(entry, error)
    } finally {
      this.#left(live, entry)
      ended?.(entry)
    }
  }

  /** A request refused before its body was read: its headers and size are all that the entry holds. */
  async refuse(live: LivePipeline, request: InboundRequest, error: AppError, size: number | undefined): Promise<Answer> {
    live.underWay++
    const entry = this.#draft(live, request.receivedAt)
    entry.payload_preview = headersAndSize(request.headers, size)
    try {
      return await this.#refusals.rejected(live.stored, entry, error, String(error.details.reason ?? error.code))
    } catch (fault) {
      return this.#refusals.broken(entry, fault)
    } finally {
      this.#left(live, entry)
    }
  }

  /** An event that there is no room for: counted in one entry a minute. */
  turnAway(live: LivePipeline, receivedAt: number, error: AppError): void {
    const entry = this.#draft(live, receivedAt)
    this.#refusals.counted(live.stored, entry, error, "too_many")
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

  /** Not async, nor what it calls where nothing is waited for: a promise a stage was a tenth of what an event costs. */
  #run(arrival: Arrival, started: number): Promise<Answer> {
    const verdict = inStage("verify", () => arrival.live.verifier.verify(arrival.request))
    if ("then" in verdict) return verdict.then((settled) => this.#verified(arrival, settled, started))
    return this.#verified(arrival, verdict, started)
  }

  #verified(arrival: Arrival, verdict: Verdict, started: number): Promise<Answer> {
    const { live, request, entry } = arrival
    const settled = inTime(verdict, live, request.receivedAt)
    noteVerdict(entry, settled)
    noteTiming(entry, "verify", this.#services.clock.monotonic() - started)
    if (!settled.ok) {
      const error = new AppError("unauthenticated", "The event could not be verified.", {})
      return this.#refusals.rejected(live.stored, entry, error, settled.cause)
    }
    let read: JsonBody | Promise<JsonBody>
    try {
      read = toJsonText(request.body, one(request.headers["content-type"]))
    } catch (error) {
      return this.#unread(arrival, error)
    }
    if (!("then" in read)) return this.#read(arrival, settled, read)
    return read.then(
      (body) => this.#read(arrival, settled, body),
      (error: unknown) => this.#unread(arrival, error),
    )
  }

  #unread(arrival: Arrival, error: unknown): Promise<Answer> {
    const { live, request, entry } = arrival
    const refused = asAppError(error)
    entry.payload_preview = headersAndSize(request.headers, request.body.length)
    return this.#refusals.rejected(live.stored, entry, refused, String(refused.details.reason ?? "malformed_body"))
  }

  #read(arrival: Arrival, settled: Verdict & { ok: true }, body: JsonBody): Promise<Answer> {
    const { live, request, entry } = arrival
    const strip = settled.proof?.body
    const hidden = strip !== undefined && strip.length > 0
    const shown = hidden ? withoutFields(body.text, strip) : body.text
    notePayload(entry, shown ?? "(not shown: it holds the proof, and is no JSON)")
    const verified: Verified = {
      verdict: settled,
      body: body.text,
      shown: shown ?? "",
      headers: shownHeaders(request.headers, settled.proof?.headers),
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
      return this.#refusals.rejected(live.stored, entry, error, String(error.details.reason))
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
    const understood = await inStage("understand", () => understand(incoming, sandbox, config.inbound.geo))
    noteTiming(entry, "sandbox", clock.monotonic() - began)
    const hidden = strip !== undefined && strip.length > 0
    if (!understood.ok) {
      entry.is_test = taggedAsTest(request.headers)
      return this.#refusals.bySandbox(live.stored, entry, { body: verified.shown, headers, query }, understood)
    }
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
