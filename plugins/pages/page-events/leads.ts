// Writes a page's `lead` event from stored submissions, not from events of a browser. The row is part of the submission's commit,
// for any sender (form, script, frame). So each accepted submission has one lead and a refused submission has no lead.
import { isUuid, type Json, type Live, type UnitOfWork } from "#core"
import type { AcceptedEvent, AcceptedEvents, RequestStamp, StoredPipeline } from "#core/engine"
import type { ReservedDataset } from "../../data/datasets/index.ts"
import type { Pages } from "../pages/index.ts"
import type { AuthoredNames } from "./authored-names.ts"
import { isBot, userAgentOf } from "./bots.ts"
import { pageEventsKey } from "./columns.ts"
import type { EventTargets } from "./event-targets.ts"
import { baseOf, campaignIn, pageUrl } from "./rows.ts"
import { lastBase, pageVisit, type SessionState } from "./session.ts"
import { liveChannel } from "./session-ends.ts"
import type { Sessions } from "./sessions.ts"
import { elementName } from "./vocabulary.ts"

export interface LeadDeps {
  readonly accepted: AcceptedEvents
  readonly targets: EventTargets
  readonly pages: Pages
  readonly names: AuthoredNames
  readonly sessions: Sessions
  readonly dataset: ReservedDataset
  readonly live: Live
}

/** A submission to a page's own pipeline, with its session. */
interface Lead {
  readonly page: string
  readonly session: string
  readonly event: AcceptedEvent
}

export function connectLeads({ accepted, ...deps }: LeadDeps): void {
  accepted.use((work, pipeline, event) => {
    const page = pipeline.document.owner_artifact_id
    if (pipeline.purpose !== "record_capture" || !page) return undefined
    const { artifact_id, session_id: session } = event.envelope
    // Browsers with tracking refused have no session.
    if (artifact_id !== page || !session || !isUuid(session)) return undefined
    // Bots are not counted, except for a team's own checks. Page events follow the same rule.
    if (!event.envelope.is_test && isBot(userAgentOf(event.rawHeaders))) return undefined
    return stageLead(deps, work, pipeline, { page, session, event })
  })
}

async function stageLead(
  deps: Omit<LeadDeps, "accepted">,
  work: UnitOfWork,
  pipeline: StoredPipeline,
  { page, session, event }: Lead,
): Promise<void> {
  const { organization } = pipeline
  const { envelope, identity, receivedAt } = event
  const { is_test } = envelope
  if ((await deps.targets.endpoint(organization.id, page)) === undefined) return
  const state = await deps.sessions.open(organization.id, envelope.visitor_id ?? "", session)
  const base = baseOf({
    artifact_id: page,
    page_url: pageUrl(envelope.page_url),
    variant: envelope.variant ?? "",
    session_id: session,
    campaign: campaignIn(envelope, state && lastBase(state, is_test)),
    stamp: deviceAndPlace(event.stamp),
    is_test,
  })
  const form = await formOf(deps, organization.id, { page, session, event }, state)
  // Browsers cannot submit this id: their ids contain no colon.
  const values = { event_id: `${session}:lead:${identity}`, event: "lead", at: receivedAt, ...base, form }
  const origin = { executionId: identity, stepId: "lead", itemIndex: 0, receivedAt }
  await deps.dataset.write(work, { organization, key: pageEventsKey, values, origin })
  await deps.sessions.markLead(work, organization, session, is_test)
  work.afterCommit(() => deps.live.emit(organization.id, { channel: liveChannel, event: "page_event", data: values }))
}

/** Returns the form's name from the envelope. If a script omitted it, returns the only form started on the page. */
async function formOf(
  { pages, names }: Pick<LeadDeps, "pages" | "names">,
  organization: string,
  { page, event }: Lead,
  state: SessionState | undefined,
) {
  const form = event.envelope.form
  if (form === undefined) {
    const forms = (state && pageVisit(state, page, event.envelope.is_test)?.forms) ?? []
    return forms.length === 1 ? (forms[0]?.form ?? "") : ""
  }
  const match = await pages.get(organization, page)
  return elementName(form, match ? names.of(match) : new Set())
}

const stampColumns = ["device_type", "browser", "in_app", "language", "country", "region", "city"] as const

function deviceAndPlace(stamp: Readonly<Record<string, Json>>): RequestStamp {
  return Object.fromEntries(stampColumns.map((name) => [name, String(stamp[name] ?? "")])) as Record<(typeof stampColumns)[number], string>
}
