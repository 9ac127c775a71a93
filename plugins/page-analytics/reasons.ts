// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  copy_changing: { codes: ["unavailable"], summary: "The analytics copy is being changed; ask again." },
  copy_lost: { codes: ["unavailable"], summary: "The analytics copy is being made again." },
  not_a_member: { codes: ["permission_denied"], summary: "The key's owner is not a member of the organization." },
  query_crashed: { codes: ["invalid_argument"], summary: "The query ended the process that ran it." },
  query_deadline: { codes: ["deadline_exceeded"], summary: "The query took longer than it may." },
  query_memory: { codes: ["invalid_argument"], summary: "The query takes more memory than it may." },
  query_rejected: { codes: ["invalid_argument"], summary: "The query is not one that is run." },
  segment_missing: { codes: ["unavailable"], summary: "A segment of the analytics copy is missing." },
  segment_unreadable: { codes: ["unavailable"], summary: "A segment of the analytics copy cannot be read." },
  too_many_queries: { codes: ["resource_exhausted"], summary: "Too many queries run." },
})
