// The stable words that this plugin's errors hold in `details.reason`; AppError takes them with their code and details alone.
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  sample_name_not_found: { code: "not_found", summary: "The organization has no such item of the sample name." },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
