// Values of `details.reason` in errors of this plugin.
import { z } from "zod"
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  copy_unavailable: {
    code: "unavailable",
    summary: "The analytics copy is being rebuilt or changed.",
    remedy: "Retry after `Retry-After`.",
  },
  not_a_member: {
    code: "permission_denied",
    summary: "The key's owner is not a member of the organization.",
    remedy: "Use a member's key.",
  },
  query_crashed: {
    code: "invalid_argument",
    summary: "The query crashed its process.",
    remedy: "Ask for less; report it if it persists.",
    details: { fields: FieldProblems },
  },
  query_timeout: {
    code: "deadline_exceeded",
    summary: "The query timed out.",
    remedy: "Ask for less, or raise the limit in the settings.",
  },
  query_memory: {
    code: "invalid_argument",
    summary: "The query exceeds its memory limit.",
    remedy: "Ask for less, or raise the limit in the settings.",
    details: { fields: FieldProblems },
  },
  query_process_unavailable: { code: "unavailable", summary: "No process for the query could be started." },
  query_rejected: {
    code: "invalid_argument",
    summary: "The query is not allowed, or the engine refused it.",
    remedy: "Correct the query as the message says.",
    details: { fields: FieldProblems },
  },
  not_repeatable: {
    code: "invalid_argument",
    summary: "The query calls functions whose value is another each time, so that a snapshot does not make its answer the same.",
    remedy: "Leave these functions out, or ask without the snapshot.",
    details: { fields: FieldProblems },
  },
  report_not_found: { code: "not_found", summary: "The report does not exist.", remedy: "List the reports." },
  too_many_reports: {
    code: "resource_exhausted",
    summary: "The organization has as many reports as it may have.",
    remedy: "Delete reports.",
  },
  snapshot_gone: {
    code: "failed_precondition",
    summary: "The rows of the snapshot cannot be had again.",
    remedy: "Ask without the snapshot.",
    details: {
      why: z
        .enum(["expired", "rows_changed", "retention", "lost"])
        .describe("It expired or is unknown; its events were changed or deleted; they are older than what is kept; files were lost."),
    },
  },
  segment_missing: {
    code: "unavailable",
    summary: "A segment of the analytics copy is missing.",
    remedy: "Retry; rebuild the copy if it persists.",
  },
  segment_unreadable: {
    code: "unavailable",
    summary: "A segment of the analytics copy cannot be read.",
    remedy: "Retry; rebuild the copy if it persists.",
  },
  too_many_queries: {
    code: "resource_exhausted",
    summary: "Too many queries are running or waiting.",
    remedy: "Retry after `Retry-After`.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
