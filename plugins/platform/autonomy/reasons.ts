// Error reasons of this plugin (`details.reason`).
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  unknown_gate: {
    code: "invalid_argument",
    summary: "No loaded plugin declares the gate.",
    remedy: "Use the name that the message suggests; `GET /v1/autonomy-gates` lists them.",
    details: { fields: FieldProblems },
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
