// The organization of a rehearsal. A fresh one each time; an earlier one of its slug gives way.
import { timestamp } from "#core"
import { type RehearsalContext, StagedWork } from "#core/engine"
import { OrganizationsCollection } from "./collections.ts"

export async function rehearsedOrganization({ caller: { organization }, store, now }: RehearsalContext): Promise<void> {
  const work = new StagedWork(`rehearsal:${organization.id}`)
  const organizations = work.in(OrganizationsCollection)
  const earlier = await store.open(OrganizationsCollection).first({ slug: organization.slug })
  if (earlier) organizations.remove(earlier.id)
  const settings = { time_zone: "UTC", members_may_connect: true, notification_address: null, require_second_person: null }
  organizations.insert({
    ...organization,
    ...settings,
    created_at: timestamp(now),
    created_by: null,
    archived: null,
    suspended: null,
    managed_by: null,
  })
  await store.commit(work.commit)
}
