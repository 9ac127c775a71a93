// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  session_ended: {
    code: "unauthenticated",
    summary: "The session has ended: by a sign-out, by its user or an admin, or by its age.",
    remedy: "Sign in again.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
