// Whether a caller may call an operation: the scope of a scoped token, the role, staff. A refusal says what is needed.
import type { Caller } from "../../contract/caller.ts"
import { roleAtLeast } from "../../contract/caller.ts"
import type { Access } from "../../contract/operation.ts"
import { AppError } from "../../kernel/errors.ts"

/** Throws `permission_denied`. */
export function authorise(access: Access, caller: Caller, what: string): void {
  if (caller.scopes && !caller.scopes.has(access.scope)) {
    throw new AppError("permission_denied", `This token does not have the scope "${access.scope}", which ${what} needs.`, {
      reason: "missing_scope",
      needed_scope: access.scope,
      scopes: [...caller.scopes].sort(),
    })
  }
  if (!roleAtLeast(caller.role, access.role)) {
    throw new AppError("permission_denied", `${what} needs the role "${access.role}"; this credential acts as "${caller.role}".`, {
      reason: "role_too_low",
      needed_role: access.role,
      role: caller.role,
    })
  }
  if (access.staff && !caller.user?.staff) {
    throw new AppError("permission_denied", `${what} is for staff only.`, { reason: "staff_only" })
  }
}
