// The membership behind a link or token. Both end with it.
import type { Caller } from "#core"
import type { Organizations } from "../directory.ts"

/** One period in which a person belongs to an organization. Joining again begins another period. */
export interface MemberLink {
  readonly home_id: string
  readonly user_id: string
  /** RFC 3339. */
  readonly since: string
}

/** Returns the membership behind a caller, in the organization or in its manager. Undefined for a service key. */
export async function memberLinkOf(
  organizations: Pick<Organizations, "membership">,
  { user, organization, manager }: Pick<Caller, "user" | "organization" | "manager">,
): Promise<MemberLink | undefined> {
  const home_id = manager?.id ?? organization.id
  const membership = user && (await organizations.membership(home_id, user.id))
  return membership && { home_id, user_id: user.id, since: membership.created_at }
}

/** Returns false after the person left, also after joining again. */
export async function isStillMember(
  organizations: Pick<Organizations, "membership">,
  { home_id, user_id, since }: MemberLink,
): Promise<boolean> {
  return (await organizations.membership(home_id, user_id))?.created_at === since
}
