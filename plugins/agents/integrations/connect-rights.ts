// Rights on connections. Members manage their own private connections. Shared and lent connections need an admin.
import { AppError, type Caller, roleAtLeast } from "#core"
import type { Organizations } from "../../platform/organizations/index.ts"
import { type Connection, isUsedByPipelines } from "./connections.ts"

/** Throws `permission_denied` if a member changes a connection of others, or shares or lends a connection. */
export function requireRightTo(
  caller: Caller,
  action: string,
  { connection, shares = false, lends = false }: { connection?: Connection; shares?: boolean | undefined; lends?: boolean },
): void {
  if (roleAtLeast(caller.role, "admin")) return
  const isOthers = connection !== undefined && isUsedByPipelines(connection)
  const deed = shares ? "share an integration" : lends ? "lend an integration" : isOthers ? `${action} a shared integration` : undefined
  if (deed === undefined) return
  const message = `To ${deed} you need the role admin; this key has the role ${caller.role}. Ask an admin, or use a private integration.`
  throw new AppError("permission_denied", message, { reason: "role_too_low", needed_role: "admin", role: caller.role })
}

/** Throws `permission_denied` if the organization's setting forbids members to connect apps. */
export async function requireConnecting(caller: Caller, organizations: Pick<Organizations, "byId">): Promise<void> {
  if (roleAtLeast(caller.role, "admin")) return
  const organization = await organizations.byId(caller.organization.id)
  if (organization?.members_may_connect ?? true) return
  const message = `The setting members_may_connect of the organization "${caller.organization.slug}" is false, so only admins connect apps. Ask an admin to connect the app, or to set members_may_connect to true (PATCH /v1/organization).`
  throw new AppError("permission_denied", message, { reason: "members_may_not_connect", setting: "members_may_connect" })
}
