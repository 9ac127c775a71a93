// Error reasons of this plugin: stable words in `details.reason`.
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  event_not_an_object: { code: "invalid_argument", summary: "The event is not an object, and no `row` was given." },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
