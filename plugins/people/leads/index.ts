// Leads: one per person, across all sources, identified by mail address and phone number, with a timeline.
import { Clock, defineJob, definePlugin, injected, JobQueue, Store } from "#core"
import { type FollowedRow, RowFollowers } from "../../data/datasets/index.ts"
import { ConversationHistory, LeadDirectories, type LeadDirectory, type LeadOfAddress } from "../conversations/index.ts"
import { type AuthorFollower, MailAuthors, MailHistory } from "../inbound-mail/index.ts"
import {
  ChangeCollection,
  IdentityCollection,
  LeadCollection,
  LeadRowCollection,
  LeadSettingsCollection,
  referenceOf,
} from "./collections.ts"
import { LeadErasure } from "./erasure.ts"
import { CatchUp, FollowedCollection } from "./follow/catch-up.ts"
import { Follower } from "./follow/follower.ts"
import { catchUpRef, followRef, HandoverCollection } from "./follow/handovers.ts"
import { JournalRows } from "./follow/journal.ts"
import { RowBuffer } from "./follow/row-buffer.ts"
import { normalEmail } from "./identity.ts"
import { Leads } from "./leads.ts"
import { getSettings, mergeLeads, setSettings, splitLead } from "./operations/by-hand.ts"
import { createLead, getLead, getTimeline, listLeads } from "./operations/leads.ts"
import { reasons } from "./reasons.ts"
import { LeadRecords } from "./records.ts"
import { LeadsSettings } from "./settings.ts"
import { beginningSource, changeSource, rowSource } from "./timeline/own.ts"
import { LeadTimeline } from "./timeline/sources.ts"

export { LeadErasure } from "./erasure.ts"
export { RowBuffer } from "./follow/row-buffer.ts"
export { normalEmail } from "./identity.ts"
export { Leads } from "./leads.ts"
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
    [LeadDirectories, injected({ leads: Leads }, ({ leads }) => leadDirectory(leads))],
    [MailAuthors, injected({ leads: Leads }, ({ leads }) => authorFollower(leads))],
    [
      RowFollowers,
      injected(
        { buffer: RowBuffer },
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
    registrar.provide(LeadRecords)
    registrar.provide(Leads, { create: (deps) => new Leads({ ...deps, defaultRegion }) })
    registrar.provide(LeadErasure)
    registrar.provide(Follower)
    registrar.provide(JournalRows)
    registrar.provide(RowBuffer, { start: (buffer) => buffer.start(), stop: (buffer) => buffer.stop() })
    registrar.provide(CatchUp)
  },
})

/** Answers requests of conversations: the lead of a number, and the numbers of a lead. */
function leadDirectory(leads: Leads): LeadDirectory {
  return {
    async ofAddresses(organization, addresses) {
      if (addresses.length === 0) return new Map()
      const found = await leads.idsOf(
        organization,
        addresses.map((value) => ({ kind: "phone", value })),
      )
      const known = addresses.flatMap((address, index): [string, LeadOfAddress][] => {
        const id = found[index]
        return id === undefined ? [] : [[address, { canonical_lead_id: id, lead_reference: referenceOf(id) }]]
      })
      return new Map(known)
    },
    timeZoneOf: async (organization, address) =>
      (await leads.ofIdentities(organization, [{ kind: "phone", value: address }]))[0]?.time_zone ?? "",
    seen: (organization, { address, name, at }, stage) => leads.seen(organization, { phone: address, name, at, stage }),
    addressesOf: async (organization, ref) => (await leads.find(organization, ref))?.phones ?? [],
  }
}

/** Delay of the second try for missing rows. Their commit may finish shortly after the report, or be refused. */
const againMs = 10_000

/** Jobs that create leads: from new rows, and periodically from missed rows. */
const followRows = defineJob(followRef, {
  summary: "Makes leads of rows that name a person.",
  slots: 2,
  inject: { follower: Follower, queue: JobQueue, clock: Clock },
  async run({ payload: { organization, rows, again }, deps: { follower, queue, clock }, work }) {
    const missing = await follower.follow(organization, rows)
    if (missing.length === 0 || again) return
    queue.enqueue(work, followRef, { organization, rows: missing, again: true }, { organization, runAt: clock.now() + againMs })
  },
})

const catchUp = defineJob(catchUpRef, {
  summary: "Makes leads of rows that a process could not hand over before it ended.",
  inject: { catchUp: CatchUp },
  run: ({ deps, signal }) => deps.catchUp.run(signal),
})
