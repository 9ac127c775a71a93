// Values of `details.reason` in this plugin's errors.
import { z } from "zod"
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  ambiguous_connection: {
    code: "failed_precondition",
    summary: "Several connections match.",
    remedy: "Name one.",
    details: { candidates: z.array(z.string()).describe("Slugs of those that match.") },
  },
  app_asked_to_wait: {
    code: "unavailable",
    summary: "The vendor asked to wait, and is not called before.",
    remedy: "Try again after `retry_after_s` seconds.",
    details: { retry_after_s: z.int() },
  },
  app_destination_refused: {
    code: "invalid_argument",
    summary: "The app has a URL that the service does not call.",
    details: { fields: FieldProblems },
  },
  app_in_use: {
    code: "failed_precondition",
    summary: "The app is connected or has an OAuth client; its hosts stay, and it cannot be deleted.",
    remedy: "Disconnect its integrations and delete its OAuth client, or add another app.",
    details: { fields: FieldProblems },
  },
  app_not_found: { code: "not_found", summary: "The organization has no such app of its own." },
  app_rate_limited: {
    code: "unavailable",
    summary: "The rate limit of the app has no room for the call, which was not made.",
    remedy: "Try again after `retry_after_s` seconds.",
    details: { retry_after_s: z.int() },
  },
  app_slug_fixed: { code: "invalid_argument", summary: "An app keeps its slug.", details: { fields: FieldProblems } },
  app_slug_taken: { code: "already_exists", summary: "An app of that slug exists.", remedy: "Give yours another slug." },
  app_without_oauth: { code: "invalid_argument", summary: "The app is not connected by OAuth 2.", details: { fields: FieldProblems } },
  authorization_unavailable: {
    code: "failed_precondition",
    summary: "The app is connected by an authorization alone, and the service is not set up for it.",
    remedy: "Ask the operator, or connect an app that takes credentials.",
  },
  broker_failed: {
    code: "unavailable",
    summary: "The connection broker cannot be used now.",
    remedy: "Try again later.",
    details: { server: z.string().describe("The broker's origin.") },
  },
  credentials_refused: {
    code: "invalid_argument",
    summary: "The app needs credentials and got none, or takes none and got some.",
    details: { fields: FieldProblems },
  },
  managed_access_refused: {
    code: "invalid_argument",
    summary: "Access to the app cannot be lent.",
    remedy: "Leave `managed_access` out.",
    details: { fields: FieldProblems },
  },
  rotate_credentials_refused: {
    code: "invalid_argument",
    summary: "The app has no credentials to rotate.",
    remedy: "Connect it again.",
    details: { fields: FieldProblems },
  },
  integration_paused: {
    code: "failed_precondition",
    summary: "The connector of the integration left the organization.",
    remedy: "Take it over with `POST /v1/integrations/{id}/hand-over`.",
  },
  integration_unusable: { code: "failed_precondition", summary: "The integration cannot be used now.", remedy: "Connect it again." },
  invalid_credentials: {
    code: "invalid_argument",
    summary: "The credentials are not valid for the app.",
    details: { fields: FieldProblems },
  },
  integration_not_found: { code: "not_found", summary: "The integration does not exist.", remedy: "Connect it with `share_with_org`." },
  members_may_not_connect: {
    code: "permission_denied",
    summary: "The organization lets only admins connect apps.",
    remedy: "Ask an admin to connect the app, or to change the setting that `setting` names.",
    details: { setting: z.string().describe("The organization's setting.") },
  },
  no_test_call: {
    code: "failed_precondition",
    summary: "The app names no call that proves the credentials.",
    remedy: "Of the app `http`: rotate the credentials with a `test_path`.",
  },
  nothing_to_rotate: {
    code: "not_found",
    summary: "The integration has no connection whose credentials could be rotated.",
    remedy: "Connect it first.",
  },
  oauth_client_not_found: { code: "not_found", summary: "The organization has no OAuth client for the app." },
  oauth_expired: {
    code: "failed_precondition",
    summary: "The authorization of the integration has ended; its tokens are kept.",
    remedy: "Connect it again with `rotate_credentials`.",
  },
  oauth_refresh_busy: { code: "unavailable", summary: "Another node refreshes the tokens of the integration.", remedy: "Try again." },
  oauth_server_failed: {
    code: "unavailable",
    summary: "The authorization server of the app cannot be used now.",
    remedy: "Try again later.",
    details: { server: z.string().describe("The server's origin.") },
  },
  request_refused: { code: "invalid_argument", summary: "The request to the app is not valid.", details: { fields: FieldProblems } },
  too_many_apps: {
    code: "resource_exhausted",
    summary: "The organization has as many apps of its own as it may have.",
    details: { limit: z.int() },
  },
  unknown_app: {
    code: "invalid_argument",
    summary: "The app does not exist.",
    details: { apps: z.array(z.string()).describe("The apps that there are."), fields: FieldProblems },
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
