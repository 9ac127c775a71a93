// Leads: one for each person, however they came, known by mail address and phone number; and all that happened with them.
import { Clock, ClockCorrections, definePlugin, Ids, injected, JobQueue, Log, Store, UnitsOfWork } from "#core"
import { Metrics } from "#core/engine"
import { Datasets, type FollowedRow, RowFollowers } from "../../data/datasets/index.ts"
import { Organizations } from "../../platform/organizations/index.ts"
import { ConversationHistory, LeadDirectories } from "../conversations/index.ts"
import { type AuthorFollower, MailAuthors, MailHistory } from "../inbound-mail/index.ts"
import { ChangeCollection, IdentityCollection, LeadCollection, LeadRowCollection, LeadSettingsCollection } from "./collections.ts"
import { leadDirectory } from "./directory.ts"
import { LeadErasure, LeadErasureToken } from "./erasure.ts"
import { CatchUp, CatchUpToken, FollowedCollection } from "./follow/catch-up.ts"
import { Follower, FollowerToken } from "./follow/follower.ts"
import { HandoverCollection } from "./follow/handovers.ts"
import { catchUp, followRows } from "./follow/jobs.ts"
import { JournalRows, JournalRowsToken } from "./follow/journal.ts"
import { LeadRowsToken, RowBuffer } from "./follow/row-buffer.ts"
import { normalEmail } from "./identity.ts"
import { Leads, LeadsToken } from "./leads.ts"
import { getSettings, mergeLeads, setSettings, splitLead } from "./operations/by-hand.ts"
import { createLead, getLead, getTimeline, listLeads } from "./operations/leads.ts"
import { reasons } from "./reasons.ts"
import { LeadRecords, LeadRecordsToken } from "./records.ts"
import { LeadsSettings } from "./settings.ts"
import { beginningSource, changeSource, rowSource } from "./timeline/own.ts"
import { LeadTimeline } from "./timeline/sources.ts"

export { LeadErasureToken } from "./erasure.ts"
export { LeadRowsToken } from "./follow/row-buffer.ts"
export { normalEmail } from "./identity.ts"
export { LeadsToken } from "./leads.ts"
export { normalPhone } from "./phone-number.ts"
export { LeadTimeline, type LeadTimelineSource, type TimelineEntry, type TimelineQuery } from "./timeline/sources.ts"

function authorFollower(leads: Leads): AuthorFollower {
  return (organization, { address, name, at }, stage) => leads.seen(organization, { email: normalEmail(address), name, at, stage })
}

export default definePlugin({
  id: "leads",
  reasons,
  needs: ["conversations", "datasets", "email", "inbound-mail", "organizations"],
  config: LeadsSettings,
  extensionPoints: [LeadTimeline],
  extend: [
    [LeadTimeline, injected({ store: Store }, ({ store }) => rowSource(store))],
    [LeadTimeline, injected({ store: Store }, ({ store }) => beginningSource(store))],
    [LeadTimeline, injected({ store: Store }, ({ store }) => changeSource(store))],
    [LeadTimeline, injected({ history: ConversationHistory }, ({ history }) => history)],
    [LeadTimeline, injected({ history: MailHistory }, ({ history }) => history)],
    [LeadDirectories, injected({ leads: LeadsToken }, ({ leads }) => leadDirectory(leads))],
    [MailAuthors, injected({ leads: LeadsToken }, ({ leads }) => authorFollower(leads))],
    [
      RowFollowers,
      injected(
        { buffer: LeadRowsToken },
        ({ buffer }) =>
          (row: FollowedRow) =>
            buffer.add(row),
      ),
    ],
  ],
  register(registrar, { default_region: defaultRegion }) {
    registrar.collections(LeadCollection, IdentityCollection, ChangeCollection, LeadRowCollection)
    registrar.collections(LeadSettingsCollection, FollowedCollection, HandoverCollection)
    registrar.operations(createLead, listLeads, getLead, mergeLeads, splitLead, getTimeline, getSettings, setSettings)
    registrar.jobs(followRows, catchUp)
    registrar.schedules({ name: "leads.catch_up", cron: "*/10 * * * *", job: catchUp, payload: {} })
    registrar.provide(LeadRecordsToken, {
      inject: { store: Store, clock: Clock, ids: Ids },
      create: (deps) => new LeadRecords(deps),
    })
    registrar.provide(LeadsToken, {
      inject: { store: Store, works: UnitsOfWork, records: LeadRecordsToken },
      create: (deps) => new Leads({ ...deps, defaultRegion }),
    })
    registrar.provide(LeadErasureToken, {
      inject: { store: Store, works: UnitsOfWork, leads: LeadsToken, records: LeadRecordsToken },
      create: (deps) => new LeadErasure(deps),
    })
    registrar.provide(FollowerToken, {
      inject: { store: Store, datasets: Datasets, leads: LeadsToken },
      create: (deps) => new Follower(deps),
    })
    registrar.provide(JournalRowsToken, {
      inject: {
        store: Store,
        clock: Clock,
        works: UnitsOfWork,
        organizations: Organizations,
        follower: FollowerToken,
        corrections: ClockCorrections,
        log: Log,
        metrics: Metrics,
      },
      create: (deps) => new JournalRows(deps),
    })
    registrar.provide(LeadRowsToken, {
      inject: {
        clock: Clock,
        ids: Ids,
        works: UnitsOfWork,
        queue: JobQueue,
        log: Log,
        store: Store,
        follower: FollowerToken,
        journal: JournalRowsToken,
      },
      create: (deps) => new RowBuffer(deps),
      start: (buffer) => buffer.start(),
      stop: (buffer) => buffer.stop(),
    })
    registrar.provide(CatchUpToken, {
      inject: {
        store: Store,
        clock: Clock,
        works: UnitsOfWork,
        datasets: Datasets,
        organizations: Organizations,
        follower: FollowerToken,
        journal: JournalRowsToken,
        rows: LeadRowsToken,
        corrections: ClockCorrections,
      },
      create: (deps) => new CatchUp(deps),
    })
  },
})
