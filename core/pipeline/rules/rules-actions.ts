// Rules on actions: their types, templates and what they write.
import type { Rule } from "./rule.ts"

const write = (fields: string) => `pipeline:\n  - { type: dataset.write, dataset_slug: leads, ${fields} }`

export const actionRules = {
  "unknown-action": {
    level: "error",
    summary: "An action type that is not loaded.",
    why: "The step could not run.",
    remedy: "Use the type that the message suggests, or load the plugin that declares it.",
    bad: "pipeline:\n  - { type: dataset.wirte, dataset_slug: leads, key: email }",
    good: write("key: email"),
  },
  "invalid-template": {
    level: "error",
    summary: "A template or expression that cannot be parsed completely.",
    why: "Liquid ignores text after the end of an expression, so part of a condition could be lost.",
    remedy: "Correct the expression; `when` and `for_each` are written without {{ }}.",
    bad: write('key: email, when: "event.budget >= 1000 event.vip"'),
    good: write('key: email, when: "event.budget >= 1000 or event.vip"'),
  },
  "template-never-resolves": {
    level: "error",
    summary: "A template reads a value that never exists.",
    why: "It would be empty for every event: a misspelled name, a field that a closed schema or the transform does not give, `item` without `for_each`, `event` in a dedupe key.",
    remedy: "Read one of the names listed.",
    bad: write('key: email, row: { email: "{{ event.email }}", page: "{{ envelope.page }}" }'),
    good: write('key: email, row: { email: "{{ event.email }}", page: "{{ envelope.page_url }}" }'),
  },
  "misspelled-event-field": {
    level: "warning",
    summary: "A template reads a field that is nearly one that the request schema or the transform lists.",
    why: "A field that events do not have renders to nothing, without an error.",
    remedy: "Read the field that the message suggests; list the other one in the schema where events do have it.",
    bad: `request_schema: { type: object, properties: { email: { type: string } } }\n${write('key: mail, row: { mail: "{{ event.emial }}" }')}`,
    good: `request_schema: { type: object, properties: { email: { type: string } } }\n${write('key: mail, row: { mail: "{{ event.email }}" }')}`,
  },
  "reads-non-ancestor": {
    level: "error",
    summary: "A template reads the result of a step that may not have finished, or does not exist.",
    why: "The step may run before the value exists (a race).",
    remedy: "Add the step to `needs`, or correct its id.",
    bad: 'pipeline:\n  - { id: save, type: dataset.write, dataset_slug: leads, key: email }\n  - { type: respond, needs: [], body: "{{ steps.save.row_id }}" }',
    good: 'pipeline:\n  - { id: save, type: dataset.write, dataset_slug: leads, key: email }\n  - { type: respond, needs: [save], body: "{{ steps.save.row_id }}" }',
  },
  "foreign-dataset": {
    level: "error",
    summary: "A dataset of another organization.",
    why: "An organization's pipelines write to its own datasets only.",
    remedy: "Write the plain slug, or your own organization's before the dot.",
    bad: "pipeline:\n  - { type: dataset.write, dataset_slug: rival.leads, key: email }",
    good: "pipeline:\n  - { type: dataset.write, dataset_slug: acme.leads, key: email }",
  },
  "reserved-channel": {
    level: "error",
    summary: "A broadcast to a channel of the service itself.",
    why: "Subscribers trust messages on it to be the service's own.",
    remedy: "Choose another name.",
    bad: "pipeline:\n  - { type: live.broadcast, channel: executions, data: {} }",
    good: "pipeline:\n  - { type: live.broadcast, channel: leads, data: {} }",
  },
  "purpose-without-write": {
    level: "error",
    summary: "`record_capture` without a dataset write.",
    why: "The purpose promises that submitted records are stored.",
    remedy: "Add a `dataset.write`, or leave the purpose `custom`.",
    bad: "purpose: record_capture",
    good: `purpose: record_capture\n${write("key: email")}`,
  },
  "write-without-stable-key": {
    level: "warning",
    summary: "An unkeyed write for a sender that retries events.",
    why: "Each retry is a separate event and adds another row.",
    remedy: "Give the write a `key`, or the pipeline a `dedupe`.",
    bad: write("id: save"),
    good: write("id: save, key: email"),
  },
  "unkeyed-write-without-id": {
    level: "warning",
    summary: "An unkeyed write without an id of its own.",
    why: "Its rows take their identity from the step's id; a default one moves when the list is edited, and a replay then adds rows.",
    remedy: "Give the step an `id`.",
    bad: write("row: { a: 1 }"),
    good: write("id: save, row: { a: 1 }"),
  },
} as const satisfies Record<string, Rule>
