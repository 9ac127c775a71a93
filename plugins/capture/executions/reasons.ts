// Error reasons of this plugin: stable words in `details.reason`.
import { z } from "zod"
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  replay_plan_not_found: { code: "not_found", summary: "The organization has no such replay plan.", remedy: "List the plans." },
  replay_plan_size: {
    code: "failed_precondition",
    summary: "The filter finds no event, or more than a plan takes.",
    remedy: "Make the filter wider or narrower.",
    details: { most: z.int().describe("How many events a plan takes.") },
  },
  event_not_found: { code: "not_found", summary: "The organization has no event of this id.", remedy: "List or find the events." },
  not_a_test: {
    code: "failed_precondition",
    summary: "The event cannot be written as a test that passes.",
    remedy: "Write the test by hand, with captured headers where the sender alone can sign.",
  },
  nothing_to_find: {
    code: "invalid_argument",
    summary: "The text holds no word of two letters or digits.",
    remedy: "Give a word, an address, an id or a number of the event.",
    details: { fields: FieldProblems },
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
