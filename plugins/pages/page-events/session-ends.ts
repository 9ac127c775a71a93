// Writes derived rows when a session ends, and removes them if the session resumes. A page that stays open may resume its session
// hours later, and the derived rows would then be false. An ended session is stored until no page can resume it.
import { type Clock, type Live, type Store, timestamp, type UnitOfWork } from "#core"
import type { ReservedDataset } from "../../data/datasets/index.ts"
import { type EndedSessionDocument, EndedSessionsCollection, LeadsCollection } from "./collections.ts"
import { pageEventsKey } from "./columns.ts"
import type { EventTargets } from "./event-targets.ts"
import { derivedIdOf, derivedRowOf } from "./rows.ts"
import { conclude, type DerivedRow, maxSessionMs, type SessionState, type WithdrawnRow } from "./session.ts"
import type { DerivedKind } from "./vocabulary.ts"

export interface Owner {
  readonly id: string
  readonly slug: string
}

export interface SessionEndsDeps {
  readonly store: Store
  readonly clock: Clock
  readonly live: Live
  readonly dataset: ReservedDataset
  readonly targets: EventTargets
}

export const liveChannel = "datasets:page-events"

export class SessionEnds {
  readonly #deps: SessionEndsDeps

  constructor(deps: SessionEndsDeps) {
    this.#deps = deps
  }

  /** Returns an ended session that its page may still resume. */
  async ended(organization: string, visitor: string, sessionId: string): Promise<EndedSessionDocument | undefined> {
    const ended = await this.#deps.store.open(EndedSessionsCollection, organization).get(sessionId)
    return ended?.visitor === visitor ? ended : undefined
  }

  /** Stages the end of the session and its derived rows. */
  async end(work: UnitOfWork, organization: Owner, visitor: string, state: SessionState): Promise<void> {
    const derived = conclude(state, await this.#leadsOf(organization.id, state.session_id))
    const rows = await this.writeDerived(work, organization, state.session_id, derived)
    const expires_at = timestamp(state.started_at + maxSessionMs)
    work
      .in(EndedSessionsCollection, organization.id)
      .insert({ id: state.session_id, visitor, state, rows, expires_at }, { ifPresent: "keep" })
  }

  /** Stages the session's resumption: removes the rows derived at its end. */
  resume(work: UnitOfWork, organization: Owner, ended: EndedSessionDocument): void {
    work.in(EndedSessionsCollection, organization.id).remove(ended.id)
    for (const row of ended.rows) this.#deps.dataset.remove(work, organization, row)
  }

  /** Stages a lead mark for the session. Its started forms were not abandoned. */
  async markLead(work: UnitOfWork, organization: Owner, sessionId: string, isTest: boolean): Promise<void> {
    const expires_at = timestamp(this.#deps.clock.now() + 2 * maxSessionMs)
    work.in(LeadsCollection, organization.id).insert({ id: leadId(sessionId, isTest), expires_at }, { ifPresent: "keep" })
    const ended = await this.#deps.store.open(EndedSessionsCollection, organization.id).get(sessionId)
    for (const row of ended?.rows ?? []) if (row.kind === "form_abandon") this.#deps.dataset.remove(work, organization, row)
  }

  /** Writes derived rows. Skips pages whose analytics have been turned off. */
  async writeDerived(work: UnitOfWork, organization: Owner, sessionId: string, rows: readonly DerivedRow[]) {
    const { clock, dataset, live, targets } = this.#deps
    const now = clock.now()
    const derivedRows: { kind: DerivedKind; id: string; received_at: string }[] = []
    for (const derived of rows) {
      if ((await targets.endpoint(organization.id, String(derived.base["artifact_id"]))) === undefined) continue
      const values = derivedRowOf(sessionId, derived)
      const receivedAt = timestamp(derived.writtenAt ?? now)
      const origin = { executionId: sessionId, stepId: derived.kind, itemIndex: derived.number, receivedAt }
      const { row_id } = await dataset.write(work, { organization, key: pageEventsKey, values, origin })
      derivedRows.push({ kind: derived.kind, id: row_id, received_at: receivedAt })
      live.stage(work, organization.id, { channel: liveChannel, event: "page_event", data: values })
    }
    return derivedRows
  }

  /** Stages the removal of derived rows, even if analytics are off. */
  async withdraw(work: UnitOfWork, organization: Owner, sessionId: string, rows: readonly WithdrawnRow[]): Promise<void> {
    for (const { kind, number, base, since } of rows) {
      const values = { event_id: derivedIdOf(sessionId, { kind, number }), artifact_id: base["artifact_id"] ?? "" }
      await this.#deps.dataset.removeByKey(work, organization, { key: pageEventsKey, values, received_at: timestamp(since) })
    }
  }

  async #leadsOf(organization: string, sessionId: string): Promise<ReadonlySet<boolean>> {
    const marks = this.#deps.store.open(LeadsCollection, organization)
    const of = async (isTest: boolean) => ((await marks.get(leadId(sessionId, isTest))) ? [isTest] : [])
    return new Set([...(await of(false)), ...(await of(true))])
  }
}

export function mayGoOn({ started_at }: SessionState, now: number): boolean {
  return started_at + maxSessionMs > now
}

function leadId(sessionId: string, isTest: boolean): string {
  return isTest ? `${sessionId}:test` : sessionId
}
