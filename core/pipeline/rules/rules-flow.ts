// Rules on how steps depend on each other, on handlers and on the answer.
import type { Rule } from "./rule.ts"

const save = "{ id: save, type: dataset.write, dataset_slug: leads, key: email }"
const mail = "{ id: mail, type: email.send, to: a@b.test, heading: Hello }"

export const flowRules = {
  "duplicate-id": {
    level: "error",
    summary: "Two steps with the same id.",
    why: "`needs`, `steps.<id>` and the journal could not tell them apart.",
    remedy: "Rename one.",
    bad: `pipeline:\n  - ${save}\n  - ${mail.replace("id: mail", "id: save")}`,
    good: `pipeline:\n  - ${save}\n  - ${mail}`,
  },
  "unknown-need": {
    level: "error",
    summary: "`needs` names a step that does not exist.",
    why: "The step could never start.",
    remedy: "Use an id of the list.",
    bad: `pipeline:\n  - ${save}\n  - ${mail.replace(" }", ", needs: [sav] }")}`,
    good: `pipeline:\n  - ${save}\n  - ${mail.replace(" }", ", needs: [save] }")}`,
  },
  "circular-needs": {
    level: "error",
    summary: "Steps that need each other.",
    why: "None of them could ever start.",
    remedy: "Remove one of the `needs` of the cycle in the message.",
    bad: `pipeline:\n  - ${save.replace(" }", ", needs: [mail] }")}\n  - ${mail.replace(" }", ", needs: [save] }")}`,
    good: `pipeline:\n  - ${save.replace(" }", ", needs: [] }")}\n  - ${mail.replace(" }", ", needs: [save] }")}`,
  },
  "unknown-handler": {
    level: "error",
    summary: "`on_error` names a handler that does not exist.",
    why: "The failure would not be handled.",
    remedy: "Use `fail`, `continue` or an id under `handlers`.",
    bad: `pipeline:\n  - ${save.replace(" }", ", on_error: tell }")}`,
    good: `pipeline:\n  - ${save.replace(" }", ", on_error: tell }")}\nhandlers:\n  tell: { type: email.send, to: a@b.test, heading: Failed }`,
  },
  "unused-handler": {
    level: "warning",
    summary: "A handler that no step names.",
    why: "It never runs; usually an `on_error` was forgotten.",
    remedy: "Name it in a step's `on_error`, or remove it.",
    bad: `pipeline:\n  - ${save}\nhandlers:\n  tell: { type: email.send, to: a@b.test, heading: Failed }`,
    good: `pipeline:\n  - ${save.replace(" }", ", on_error: tell }")}\nhandlers:\n  tell: { type: email.send, to: a@b.test, heading: Failed }`,
  },
  "deferred-respond": {
    level: "error",
    summary: "A `respond` that would run after the reply.",
    why: "The sender has been answered already.",
    remedy: "Do not let it need or read a deferred step, or `await` that step.",
    bad: `pipeline:\n  - ${mail}\n  - { type: respond, needs: [mail], body: {} }`,
    good: `pipeline:\n  - ${mail}\n  - { type: respond, body: {} }`,
  },
  "multiple-responds": {
    level: "warning",
    summary: "More than one `respond` without a condition.",
    why: "An event has one response; the others would be lost.",
    remedy: "Give all but one a `when`.",
    bad: "pipeline:\n  - { type: respond, body: 1 }\n  - { type: respond, body: 2 }",
    good: 'pipeline:\n  - { type: respond, body: 1, when: "event.a" }\n  - { type: respond, body: 2 }',
  },
} as const satisfies Record<string, Rule>
