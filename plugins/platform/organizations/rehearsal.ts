// The organization of a rehearsal. A fresh one each time; an earlier one of its slug gives way.
import { timestamp } from "#core"
import { type RehearsalContext, StagedWork } from "#core/engine"
import { newOrganization, OrganizationsCollection } from "./collections.ts"

export async function rehearsedOrganization({ caller: { organization }, store, now }: RehearsalContext): Promise<void> {
  const work = new StagedWork(`rehearsal:${organization.id}`)
  const organizations = work.in(OrganizationsCollection)
  const earlier = await store.open(OrganizationsCollection).first({ slug: organization.slug })
  if (earlier) organizations.remove(earlier.id)
  organizations.insert({ ...newOrganization, ...organization, created_at: timestamp(now) })
  await store.commit(work.commit)
}
