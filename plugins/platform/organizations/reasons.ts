// Error reasons of this plugin (`details.reason`).
import { z } from "zod"
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  credential_expired: { code: "unauthenticated", summary: "The key expired.", remedy: "Create a new key." },
  credential_revoked: { code: "unauthenticated", summary: "The key was revoked.", remedy: "Use another key." },
  session_not_a_key: {
    code: "permission_denied",
    summary: "A session was given to sign in with.",
    remedy: "Sign in with a key.",
  },
  key_not_found: { code: "not_found", summary: "The organization has no such key.", remedy: "List the keys." },
  owner_not_a_member: {
    code: "unauthenticated",
    summary: "The key's owner is not a member of the organization.",
    remedy: "Use the key of a member.",
  },
  malformed_credential: {
    code: "unauthenticated",
    summary: "The key is not one of this service's.",
    remedy: "Send a key of this service.",
  },
  credential_checksum_mismatch: {
    code: "unauthenticated",
    summary: "The key's checksum does not match.",
    remedy: "Copy the whole key again.",
  },
  member_not_found: {
    code: "not_found",
    summary: "The user does not exist, or is out of the caller's reach.",
    remedy: "List the members.",
  },
  not_service_owner: {
    code: "permission_denied",
    summary: "Only an owner of the service's own organization marks users as staff.",
    remedy: "Ask an owner of the service's own organization.",
  },
  organization_not_accessible: {
    code: "not_found",
    summary: "This credential has no access to the organization.",
    remedy: "Choose an organization that the key can act in.",
  },
  invitation_not_found: {
    code: "not_found",
    summary: "No invitation has this code or id: it was accepted, revoked, or has expired.",
    remedy: "Ask the manager for another.",
  },
  already_managed: {
    code: "failed_precondition",
    summary: "Another organization manages this one, or they would manage each other or themselves.",
    remedy: "End the management that there is.",
  },
  acts_for_client: {
    code: "permission_denied",
    summary: "A credential that acts in a managed organization cannot change its members or its manager.",
    remedy: "Use a key of the organization itself.",
  },
  last_owner: {
    code: "failed_precondition",
    summary: "The organization would have no owner.",
    remedy: "Make another member an owner first.",
  },
  organization_archived: {
    code: "permission_denied",
    summary: "The organization is archived: it is read-only and accepts no events.",
    remedy: "An owner restores it with `POST /v1/organization/restore`.",
    details: { since: z.string().describe("RFC 3339.") },
  },
  organization_suspended: {
    code: "permission_denied",
    summary: "The operator suspended the organization.",
    remedy: "Ask the operator of the service.",
    details: { since: z.string().describe("RFC 3339.") },
  },
  service_organization: {
    code: "failed_precondition",
    summary: "The service's own organization is never archived or suspended.",
    remedy: "Stop the service instead.",
  },
  self_service_off: {
    code: "permission_denied",
    summary: "Only the operator creates organizations.",
    remedy: "Ask the operator, or set `plugins.settings.organizations.self_service`.",
  },
  user_required: {
    code: "permission_denied",
    summary: "The key belongs to no user, and an organization needs an owner.",
    remedy: "Use a session or key of a person.",
  },
  daily_limit: {
    code: "resource_exhausted",
    summary: "The user created as many organizations today as the settings allow.",
    remedy: "Retry on the next day of UTC.",
    details: { limit: z.int().describe("Organizations a day.") },
  },
  already_member: {
    code: "failed_precondition",
    summary: "The person is a member of the organization.",
    remedy: "Change the role with `PATCH /v1/members/{user_id}`.",
  },
  member_invitation_not_found: {
    code: "not_found",
    summary: "The invitation was used, replaced or revoked, or has expired.",
    remedy: "Ask an admin of the organization for a new one.",
  },
  invitation_for_another: {
    code: "not_found",
    summary: "The invitation is for another address.",
    remedy: "Sign in with the address that received it.",
  },
  sign_in_first: {
    code: "permission_denied",
    summary: "The invited person must prove the address.",
    remedy: "Sign in with the invited address by a mailed code, and repeat the call.",
  },
  too_many_invitations: {
    code: "resource_exhausted",
    summary: "The organization has mailed as many invitations as it may in a day.",
    remedy: "Wait until the next day (UTC).",
    details: { limit: z.int().describe("Invitations a day."), retry_after_s: z.int().describe("Seconds to the next day.") },
  },
  ownership_offer_not_found: {
    code: "not_found",
    summary: "No valid offer of ownership exists for the user.",
    remedy: "Ask an owner for an offer.",
  },
  credential_without_user: {
    code: "permission_denied",
    summary: "A person gives and takes ownership, and the key has no user.",
    remedy: "Use a credential of an owner.",
  },
  unknown_credential: { code: "unauthenticated", summary: "The key is not known.", remedy: "Create a key with `POST /v1/api-keys`." },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
