// The jobs of the widget canary: one that looks each minute what is due, and one for each check.
import { defineJob } from "#core"
import { Canary } from "./canary.ts"
import { checkRef, watchRef } from "./collection.ts"

export const watchWidget = defineJob(watchRef, {
  summary: "Start a check of the widget canary that is due, and tell of one that is late or does not end.",
  inject: { canary: Canary },
  run: ({ deps, organization = "", work }) => deps.canary.watch(work, organization),
})

export const checkWidget = defineJob(checkRef, {
  summary: "Look whether the widget was there when its page was loaded.",
  inject: { canary: Canary },
  run: ({ payload, deps, organization = "", work }) => deps.canary.check(work, organization, payload),
  exhausted: ({ payload, deps, organization = "", work }) => deps.canary.giveUp(work, organization, payload.check_id),
})
