// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  copy_changing: { codes: ["unavailable"], summary: "The analytics copy is being changed; try again." },
  copy_lost: { codes: ["unavailable"], summary: "The analytics copy is being rebuilt." },
  not_a_member: { codes: ["permission_denied"], summary: "The key's owner is not a member of the organization." },
  query_crashed: { codes: ["invalid_argument"], summary: "The query crashed its process." },
  query_timeout: { codes: ["deadline_exceeded"], summary: "The query timed out." },
  query_memory: { codes: ["invalid_argument"], summary: "The query exceeds its memory limit." },
  query_rejected: { codes: ["invalid_argument"], summary: "The query is not allowed, or the engine refused it." },
  segment_missing: { codes: ["unavailable"], summary: "A segment of the analytics copy is missing." },
  segment_unreadable: { codes: ["unavailable"], summary: "A segment of the analytics copy cannot be read." },
  too_many_queries: { codes: ["resource_exhausted"], summary: "Too many queries are running or waiting." },
})
