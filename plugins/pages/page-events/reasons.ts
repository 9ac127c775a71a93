// Values of `details.reason` in errors of this plugin.
import { z } from "zod"
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  bot: {
    code: "permission_denied",
    summary: "Events of bots are not counted.",
    remedy: "None: events of bots are left out.",
    details: { results: z.array(z.unknown()).optional().describe("What became of each event.") },
  },
  invalid_event: {
    code: "invalid_argument",
    summary: "The page event is not valid.",
    details: { fields: FieldProblems, results: z.array(z.unknown()).optional().describe("What became of each event.") },
  },
  malformed_batch: { code: "invalid_argument", summary: "The batch of page events is not valid." },
  page_analytics_off: {
    code: "failed_precondition",
    summary: "The page's page-events pipeline is not active, so none of its rows is written.",
    remedy: "Make the page's pipeline active.",
  },
  receipt_refused: { code: "failed_precondition", summary: "The replay gets no receipt.", remedy: "See what the message names." },
  reserved_event: {
    code: "invalid_argument",
    summary: "The event is created by the server and cannot be submitted.",
    details: { fields: FieldProblems.optional(), results: z.array(z.unknown()).optional().describe("What became of each event.") },
  },
  too_many_events: {
    code: "invalid_argument",
    summary: "The batch has too many events.",
    remedy: "Send them in several batches.",
    details: { max_events: z.int().describe("The limit.") },
  },
  unknown_event: {
    code: "invalid_argument",
    summary: "The event is not in the page-event vocabulary.",
    details: { fields: FieldProblems.optional(), results: z.array(z.unknown()).optional().describe("What became of each event.") },
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
