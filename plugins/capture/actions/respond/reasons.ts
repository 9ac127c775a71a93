// Error reasons of this plugin: stable words in `details.reason`.
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  location_refused: { code: "invalid_argument", summary: "The redirect's target is not allowed." },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
