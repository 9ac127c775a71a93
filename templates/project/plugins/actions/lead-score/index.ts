// The action type lead.score: later steps read `{{ steps.<id>.points }}`.
import { z } from "zod"
import { defineAction, definePlugin, template } from "#core"

const leadScore = defineAction({
  type: "lead.score",
  summary: "Score a lead by its budget and address.",
  timing: "commit",
  idempotency: "exactly_once",
  config: z.strictObject({
    email: template(z.string()).describe("Address of the lead."),
    budget: template(z.number()).describe("Budget in euros."),
  }),
  result: z.object({ points: z.number() }),
  examples: [{ title: "Score", yaml: 'type: lead.score\nemail: "{{ event.email }}"\nbudget: "{{ event.budget }}"' }],
  run({ config }) {
    const own = /@(gmail|outlook|yahoo)\./.test(config.email) ? 0 : 20
    return { points: Math.min(80, Math.floor(config.budget / 100)) + own }
  },
})

export default definePlugin({
  id: "action-lead-score",
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(leadScore),
})
