// Checks the rights of a caller: token scopes, role, staff. A refusal names the missing right.
import type { AnyCaller, Caller } from "../../contract/caller.ts"
import { roleAtLeast } from "../../contract/caller.ts"
import { callerKind } from "../../contract/caller-kind.ts"
import type { Access } from "../../contract/operation.ts"
import { AppError } from "../../kernel/errors.ts"

/** Returns true if the caller may call an operation with this access. */
export function isAuthorised(access: Access, caller: AnyCaller): boolean {
  return lackOf(access, caller, caller.operator) === undefined
}

/** Throws `permission_denied`. */
export function authorise(access: Access, caller: AnyCaller, what: string): void {
  const lack = lackOf(access, caller, what)
  if (lack === "organization") requireOrganization(caller, what)
  if (lack === "scope") {
    throw new AppError("permission_denied", `This token does not have the scope "${access.scope}", which ${what} needs.`, {
      reason: "missing_scope",
      needed_scope: access.scope,
      scopes: [...(caller.scopes ?? [])].sort(),
    })
  }
  if (lack === "role") {
    throw new AppError("permission_denied", `${what} needs the role "${access.role}"; this credential acts as "${caller.role}".`, {
      reason: "role_too_low",
      needed_role: access.role,
      role: caller.role,
    })
  }
  if (lack === "agent") {
    const message = `${what} is closed to agents: tokens of the kind "agent", MCP clients and heartbeats. Ask a person to call it.`
    throw new AppError("permission_denied", message, { reason: "closed_to_agents" })
  }
  if (lack === "operator") {
    throw new AppError("permission_denied", `The operator's credential is for ${caller.operator ?? ""} alone, not for ${what}.`, {
      reason: "operator_only",
    })
  }
  if (lack === "staff") throw new AppError("permission_denied", `${what} is for staff only.`, { reason: "staff_only" })
  if (access.freshSignIn) requireFreshSignIn(caller, what)
}

/** Returns the caller of an organization. Throws `permission_denied` for a person without one. */
export function requireOrganization(caller: AnyCaller, what: string): Caller {
  if (caller.organization) return caller
  const message = `${what} needs an organization, and your session acts in none. Ask for an invitation, create an organization, or choose one of yours.`
  throw new AppError("permission_denied", message, { reason: "no_organization" })
}

/** Throws `permission_denied` for a person without a sign-in in the last five minutes. Keys act by role alone. */
export function requireFreshSignIn({ signIn }: Pick<AnyCaller, "signIn">, what: string): void {
  if (!signIn || signIn.isFresh) return
  throw new AppError("permission_denied", `${what} needs a sign-in within the last five minutes; sign in again and repeat the call.`, {
    reason: "sign_in_again",
  })
}

/** Throws `permission_denied` if another caller sends a field of the operator. */
export function refuseOperatorFields({ operator }: Access, caller: AnyCaller, input: unknown): void {
  if (caller.operator !== undefined || typeof input !== "object" || input === null) return
  const field = operator?.fields?.find((name) => (input as Record<string, unknown>)[name] !== undefined)
  if (field === undefined) return
  const message = `${field}: only the operator of the service gives this field, by the command beside the service.`
  throw new AppError("permission_denied", message, { reason: "operator_only" })
}

type Lack = "organization" | "scope" | "role" | "agent" | "staff" | "operator"

function lackOf(access: Access, caller: AnyCaller, what: string | undefined): Lack | undefined {
  const { scopes, role, user, operator } = caller
  if (operator !== undefined) return access.operator && operator === what ? undefined : "operator"
  if (scopes && !scopes.has(access.scope)) return "scope"
  if (role === undefined && !access.withoutOrganization) return "organization"
  if (role !== undefined && !roleAtLeast(role, access.role)) return "role"
  if (access.closedToAgents && callerKind(caller) === "agent") return "agent"
  return access.staff && !user?.staff ? "staff" : undefined
}
