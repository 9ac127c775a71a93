// The life of a request to a pipeline that a plugin runs itself: verified and parsed here, journalled through here,
// counted as under way until it is committed, and answered only then.
import type { InboundRequest } from "../../contract/auth-mode.ts"
import type { Caller } from "../../contract/caller.ts"
import type { Json } from "../../contract/collection.ts"
import type { Store } from "../../contract/store.ts"
import { StagedWork, type Work } from "../../contract/work.ts"
import { AppError, asAppError } from "../../kernel/errors.ts"
import type { EventAnswer } from "../engine.ts"
import { type Answer, answerError, answerReply, errorReply } from "../event/answer.ts"
import { toJsonText } from "../event/body.ts"
import { type LivePipeline, type LivePipelines, refuseEnded } from "../event/loaded-pipelines.ts"
import type { EventServices } from "../event/process.ts"
import type { Intake, IntakeJournal } from "../intake.ts"
import { EntryCollection } from "../journal/collections.ts"
import { draftEntry, noteOutcome, notePayload, noteReply, noteVerdict } from "../journal/draft.ts"
import type { JournalEntry } from "../journal/entry.ts"
import { storedEntry } from "../journal/stored.ts"
import type { StoredPipeline } from "../source.ts"
import { stampOf, taggedAsTest } from "../stamp/stamp.ts"

export interface IntakeServices extends EventServices {
  readonly store: Store
  readonly pipelines: LivePipelines
}

export class IntakeLife {
  readonly #services: IntakeServices

  constructor(services: IntakeServices) {
    this.#services = services
  }

  /** Never throws. */
  async handle(intake: Intake, live: LivePipeline, request: InboundRequest, address: string): Promise<Answer> {
    live.underWay++
    const whole = this.#draft(live.stored, live.graph.digest, this.#services.ids.uuid(), request.receivedAt)
    try {
      return await this.#run(intake, live, request, address, whole)
    } catch (error) {
      return await this.#refused(live, whole, error)
    } finally {
      if (--live.underWay === 0) live.idle?.()
    }
  }

  async replay(intake: Intake, pipeline: StoredPipeline, executionId: string, caller: Caller): Promise<EventAnswer> {
    const { store, ids, clock, pipelines } = this.#services
    const entry = await store.open(EntryCollection, pipeline.organization.id).get(executionId)
    if (!entry || entry.pipeline_id !== pipeline.id)
      throw new AppError("not_found", `The pipeline "${pipeline.slug}" has no execution ${executionId}.`)
    if (!entry.verdict.ok)
      throw new AppError("failed_precondition", "An event that was not verified cannot be replayed.", { reason: "not_verified" })
    const live = await pipelines.of(pipeline)
    if (!live)
      throw new AppError("failed_precondition", `The pipeline "${pipeline.slug}" does not compile with the plugins that are loaded.`)
    const draft = this.#draft(pipeline, live.graph.digest, ids.uuid(), clock.now())
    draft.replay_of = entry.replay_of ?? entry.id
    draft.verdict = entry.verdict
    draft.payload_preview = entry.payload_preview
    live.underWay++
    try {
      return await intake.replay({ pipeline, entry, caller, draft, journal: this.#journal(live, draft) })
    } finally {
      if (--live.underWay === 0) live.idle?.()
    }
  }

  async #run(intake: Intake, live: LivePipeline, request: InboundRequest, address: string, whole: JournalEntry): Promise<Answer> {
    const { config } = this.#services
    const verdict = await live.verifier.verify(request)
    noteVerdict(whole, verdict)
    whole.is_test = taggedAsTest(request.headers)
    if (!verdict.ok) {
      notePayload(whole, sizeOf(request))
      throw new Unverified("unauthenticated", "The event could not be verified.", { reason: verdict.cause })
    }
    const text = await textOf(request, whole)
    notePayload(whole, text)
    const reply = await intake.take({
      pipeline: live.stored,
      body: parsed(text),
      headers: request.headers,
      address,
      stamp: stampOf(request.headers, config.inbound.geo),
      isTest: whole.is_test,
      receivedAt: request.receivedAt,
      id: whole.id,
      journal: this.#journal(live, whole),
    })
    return answerReply(reply)
  }

  #draft(stored: StoredPipeline, digest: string, id: string, receivedAtMs: number): JournalEntry {
    return draftEntry({ id, stored, digest, receivedAtMs, entriesDays: this.#services.config.retention.entries_days })
  }

  #journal(live: LivePipeline, whole: JournalEntry): IntakeJournal {
    const entries: JournalEntry[] = []
    const { rejections, store, assertLive, conclude, observe } = this.#services
    const organization = live.stored.organization.id
    const draft = (id: string, text: string): JournalEntry => {
      const entry = this.#draft(live.stored, live.graph.digest, id, Date.parse(whole.received_at))
      entry.verdict = whole.verdict
      notePayload(entry, text)
      return entry
    }
    const reject: IntakeJournal["reject"] = (entry, cause, error, { folded = false } = {}) => {
      noteOutcome(entry, "rejected", cause, { code: error.code, message: error.message })
      const own = !folded && rejections.takesOwnEntry(entry.pipeline_id)
      if (own) entries.push(entry)
      else {
        rejections.fold(organization, entry)
        observe(entry.status, entry.cause, {})
      }
      return own
    }
    const accept = (entry: JournalEntry): void => {
      noteOutcome(entry, "accepted", "")
      entries.push(entry)
    }
    const commit = async (work: Work): Promise<void> => {
      for (const entry of entries) work.in(EntryCollection, organization).insert(storedEntry(entry))
      assertLive()
      refuseEnded(live)
      const result = await store.commit({ id: work.id, writes: work.writes })
      if (work instanceof StagedWork) await work.committed(result)
      for (const entry of entries) {
        conclude.announce(live.stored, entry)
        observe(entry.status, entry.cause, {})
      }
    }
    return { draft, accept, reject, commit }
  }

  /** The request as a whole: one entry tells why. */
  async #refused(live: LivePipeline, whole: JournalEntry, cause: unknown): Promise<Answer> {
    const { log, rejections, conclude, observe } = this.#services
    const error = asAppError(cause)
    if (error.code === "internal") log.error({ err: cause, execution: whole.id }, "an intake broke")
    if (["internal", "unavailable", "deadline_exceeded", "aborted"].includes(error.code)) {
      return answerError(new AppError("unavailable", "The events could not be stored now; send them again.", {}, { retryAfterS: 1 }))
    }
    noteOutcome(whole, "rejected", String(error.details.reason ?? error.code), {
      code: error.code,
      message: whole.verdict.message || error.message,
    })
    // What was expected of the sender stays in the journal.
    const shown = error instanceof Unverified ? new AppError(error.code, error.message) : error
    noteReply(whole, errorReply(shown))
    try {
      if (rejections.takesOwnEntry(whole.pipeline_id)) await conclude.entryOnly(live.stored, whole)
      else rejections.fold(live.stored.organization.id, whole)
    } catch (fault) {
      log.warn({ err: fault, execution: whole.id }, "a rejection could not be journalled")
    }
    observe(whole.status, whole.cause, {})
    return answerError(shown)
  }
}

/** All that is kept of a request that was not read: its headers may tell who sent it. */
function sizeOf({ body }: InboundRequest): string {
  return JSON.stringify({ size: body.length })
}

class Unverified extends AppError {}

async function textOf(request: InboundRequest, whole: JournalEntry): Promise<string> {
  const type = request.headers["content-type"]
  try {
    return (await toJsonText(request.body, typeof type === "string" ? type : type?.[0])).text
  } catch (error) {
    notePayload(whole, sizeOf(request))
    throw error
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    throw new AppError("invalid_argument", "The body is not JSON.", { reason: "malformed_body" })
  }
}
