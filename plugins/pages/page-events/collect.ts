// Receives events from browsers. Each element has its own verdict and journal entry; a malformed element does not affect others.
// One commit stores the rows, the entries, the session and derived rows.
import { AppError, type Ids, type Json, type Live, timestamp } from "#core"
import { type Arrival, type Intake, type ReplayArgs, type Reply, StagedWork, type StoredPipeline } from "#core/engine"
import type { ReservedDataset } from "../../data/datasets/index.ts"
import { chooseVariant, type Pages, type StoredPage, shownVariant, type Visitors } from "../pages/index.ts"
import { type AuthoredNames, namesHeld } from "./authored-names.ts"
import { type Batch, readBatch, timeOf } from "./batch.ts"
import { isBot, userAgentOf } from "./bots.ts"
import { BatchesCollection, EndedSessionsCollection, type RowContext, SessionsCollection } from "./collections.ts"
import { pageEventsDataset, pageEventsKey } from "./columns.ts"
import type { EventLimits } from "./limits.ts"
import { baseOf, campaignIn, envelopeOf, pageUrl, rowOf } from "./rows.ts"
import { hear, idleMs, lastBase } from "./session.ts"
import { liveChannel } from "./session-ends.ts"
import type { OpenSession, SaidSession, Sessions } from "./sessions.ts"
import { answer, type Judged, judge, refuseEmptyOfBot, refuseWhole } from "./verdicts.ts"

export interface CollectorDeps {
  readonly ids: Ids
  readonly live: Live
  readonly pages: Pages
  readonly names: AuthoredNames
  readonly visitors: Visitors
  readonly sessions: Sessions
  readonly limits: EventLimits
  readonly dataset: ReservedDataset
  readonly payloadsDays: number
  /** Origin of published pages. */
  readonly origin: () => string
  readonly replay: (args: ReplayArgs) => ReturnType<Intake["replay"]>
}

interface Visit extends SaidSession {
  readonly visitor: string
  readonly variant: string
}

const stepId = "page_events"
const tries = 6
const dayMs = 86_400_000

export class Collector implements Intake {
  readonly #deps: CollectorDeps
  /** Serializes requests of one visitor on this node. Across nodes, the session's revision detects conflicts. */
  readonly #turns = new KeyedTurns()

  constructor(deps: CollectorDeps) {
    this.#deps = deps
  }

  replay(args: ReplayArgs): ReturnType<Intake["replay"]> {
    return this.#deps.replay(args)
  }

  async take(arrival: Arrival): Promise<Reply> {
    const refusal = await this.#deps.limits.take(arrival.pipeline.organization.id, arrival.address)
    if (refusal) return refuseWhole(arrival, this.#deps.ids.uuid(), refusal)
    const page = await this.#page(arrival.pipeline)
    const authored = this.#deps.names.of(page)
    const batch = readBatch(arrival.body, authored)
    const agent = userAgentOf(arrival.headers)
    // A team's own checks run in browsers with a bot user agent. Their events are stored as test events.
    const bot = isBot(agent) && !arrival.isTest && !batch.isTest
    const judged = judge(arrival, batch, { bot, authored, ids: this.#deps.ids })
    const accepted = judged.filter(({ event }) => event !== undefined)
    if (bot) return judged.length === 0 ? refuseEmptyOfBot(arrival, this.#deps.ids.uuid()) : answer(judged)
    const organization = arrival.pipeline.organization
    const visit = await this.#visit(organization.id, page, batch, arrival.address, agent)
    const signals = batch.clicks.length + batch.touched.length > 0 || batch.depth !== undefined
    if (accepted.length === 0 && !signals) await this.#commitRejections(arrival, judged)
    else await this.#turns.take(`${organization.id}/${visit.visitor}`, () => this.#commit(arrival, batch, page, visit, judged))
    return answer(judged)
  }

  async #page({ organization, document }: StoredPipeline): Promise<StoredPage> {
    const page = await this.#deps.pages.get(organization.id, document.owner_artifact_id ?? "")
    if (!page) throw new Error("The page of this pipeline does not exist.")
    return page
  }

  /**
   * Returns visitor, session and variant. They come from the envelope if its proof is valid. Otherwise the visitor is derived
   * from address and user agent, and the variant must exist on the page.
   */
  async #visit(organization: string, page: StoredPage, batch: Batch, address: string, agent: string): Promise<Visit> {
    const { visitors, origin } = this.#deps
    const { visitor_id: visitorId = "", session_id: session = "", variant: variantKey = "" } = batch.envelope
    const proven = visitors.proven({ organization, page: page.id, visitor: visitorId, session, variant: variantKey }, batch.proof)
    const visitor = proven && visitorId !== "" ? visitorId : await visitors.of({ organization, origin: origin(), address, agent })
    const chosen = chooseVariant(page.variants, visitor, page.id)?.key ?? ""
    return {
      visitor,
      // An older id may belong to a session that has ended. An id is never used twice.
      shownAs: proven?.begins && proven.ageMs < idleMs ? session : undefined,
      shownIn: proven && session !== "" ? session : undefined,
      variant: variantKey === "" ? chosen : shownVariant(page.variants, variantKey, proven !== undefined),
    }
  }

  /** Retries if the session was changed or ended concurrently. */
  async #commit(arrival: Arrival, batch: Batch, page: StoredPage, visit: Visit, judged: readonly Judged[]): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#tryCommit(arrival, batch, page, visit, judged, attempt)
      } catch (error) {
        if (!isRace(error) || attempt >= tries) throw error
      }
    }
  }

  async #tryCommit(
    arrival: Arrival,
    batch: Batch,
    page: StoredPage,
    { visitor, variant, ...visit }: Visit,
    judged: readonly Judged[],
    attempt: number,
  ): Promise<void> {
    const { sessions, dataset, live } = this.#deps
    const { pipeline, receivedAt, journal, id } = arrival
    const { organization } = pipeline
    const events = judged.flatMap(({ event }) => (event ? [event] : []))
    const views = events.flatMap(({ kind, at }) => (kind === "pageview" ? [timeOf(at, batch.sentAt, receivedAt)] : []))
    const session = await sessions.of(organization.id, visitor, receivedAt, { ...visit, viewedAt: Math.max(0, ...views) })
    const names = namesHeld(events, this.#deps.names.of(page))
    const context = { ...contextOf(arrival, batch, page, variant, session), ...(names.length > 0 ? { names } : {}) }
    const work = new StagedWork(attempt === 1 ? id : `${id}:${attempt}`)
    const rows: Json[] = []
    const envelope = envelopeOf(context)
    const derived = hear(session.state, {
      artifact: page.id,
      base: baseOf(context),
      events,
      batch,
      receivedAt,
      timeOf: (at) => timeOf(at, batch.sentAt, receivedAt),
    })
    const { deeper } = derived
    for (const { index, event, entry } of judged) {
      entry.envelope = { batch_id: id, index, ...envelope }
      if (!event) continue
      const values = rowOf(event, context)
      const origin = { executionId: entry.id, stepId, itemIndex: 0, receivedAt: timestamp(receivedAt) }
      const row = await dataset.write(work, { organization, key: pageEventsKey, values, origin })
      entry.rows = [{ step: stepId, dataset: pageEventsDataset, row_id: row.row_id }]
      rows.push(values)
    }
    if (deeper) {
      const { writtenAt, ...values } = deeper
      const origin = { executionId: id, stepId: "scroll", itemIndex: 0, receivedAt: timestamp(writtenAt) }
      await dataset.write(work, { organization, key: pageEventsKey, values: { ...values, artifact_id: page.id }, origin })
    }
    await sessions.stage(work, organization, visitor, session, derived)
    this.#stageBatch(work, arrival, judged, context)
    await journal.commit(work)
    for (const data of rows) live.emit(organization.id, { channel: liveChannel, event: "page_event", data })
  }

  async #commitRejections(arrival: Arrival, judged: readonly Judged[]): Promise<void> {
    if (judged.every(({ result }) => result["execution_id"] === undefined)) return
    const work = new StagedWork(arrival.id)
    await arrival.journal.commit(work)
  }

  #stageBatch(work: StagedWork, arrival: Arrival, judged: readonly Judged[], context: RowContext): void {
    if (judged.length === 0) return
    work.in(BatchesCollection, arrival.pipeline.organization.id).insert({
      id: arrival.id,
      pipeline_id: arrival.pipeline.id,
      elements: judged.map(({ text, event }) => (event ? text : null)),
      context,
      expires_at: timestamp(arrival.receivedAt + this.#deps.payloadsDays * dayMs),
    })
  }
}

function isRace(error: unknown): boolean {
  if (!(error instanceof AppError)) return false
  const changing: unknown[] = [SessionsCollection.name, EndedSessionsCollection.name]
  const ended = error.code === "not_found" && changing.includes(error.details["collection"])
  return ended || error.code === "aborted" || error.code === "already_exists"
}

function contextOf(arrival: Arrival, batch: Batch, page: StoredPage, variant: string, { state }: OpenSession): RowContext {
  const is_test = arrival.isTest || batch.isTest
  return {
    artifact_id: page.id,
    page_url: pageUrl(batch.envelope.page_url),
    variant,
    session_id: state.session_id,
    campaign: campaignIn(batch.envelope, lastBase(state, is_test)),
    stamp: arrival.stamp,
    is_test,
    received_at: arrival.receivedAt,
    sent_at: batch.sentAt ?? null,
  }
}

/** Runs tasks of the same key one at a time, in order of the calls. Stores only keys with tasks in progress. */
class KeyedTurns {
  readonly #last = new Map<string, Promise<void>>()

  take<T>(key: string, run: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const turn = before.then(run)
    const end = () => {
      if (this.#last.get(key) === finished) this.#last.delete(key)
    }
    const finished = turn.then(end, end)
    this.#last.set(key, finished)
    return turn
  }
}
