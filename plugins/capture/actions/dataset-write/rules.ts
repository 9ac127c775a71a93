// The rules of dataset.write, beside what its schema says.
import type { LintRule } from "#core"

export const datasetWriteRules = {
  "column-name": {
    level: "error",
    summary: "An invalid column name.",
    why: "A name that is empty, starts with `$` or contains a dot has a special meaning in the storage; the step would fail for every event.",
    remedy: "Rename the column.",
    bad: 'pipeline:\n  - { type: dataset.write, dataset_slug: leads, key: email, row: { email: "{{ event.email }}", utm.source: "{{ envelope.utm_source }}" } }',
    good: 'pipeline:\n  - { type: dataset.write, dataset_slug: leads, key: email, row: { email: "{{ event.email }}", utm_source: "{{ envelope.utm_source }}" } }',
  },
  "key-not-in-row": {
    level: "error",
    summary: "The key column is not among the columns written.",
    why: "A keyed write needs a value in its key column; without one the step fails for every event.",
    remedy: "Add the column to `row`; or leave `row` out to write the event as it is, and let the transform return the column.",
    bad: 'pipeline:\n  - { type: dataset.write, dataset_slug: leads, key: email, row: { name: "{{ event.name }}" } }',
    good: 'pipeline:\n  - { type: dataset.write, dataset_slug: leads, key: email, row: { email: "{{ event.email }}", name: "{{ event.name }}" } }',
  },
} as const satisfies Record<string, LintRule>
