// The rules of integration.call, beside what its schema says.
import type { LintRule } from "#core"

export const integrationCallRules = {
  "unencoded-path": {
    level: "warning",
    summary: "A value of the event in a path without encoding.",
    why: "A `/` or `..` in the value would address another resource.",
    remedy: "Filter the value through `url_encode`.",
    bad: 'pipeline:\n  - { type: integration.call, integration: crm, path: "/contacts/{{ event.id }}" }',
    good: 'pipeline:\n  - { type: integration.call, integration: crm, path: "/contacts/{{ event.id | url_encode }}" }',
  },
  "integration-path": {
    level: "error",
    summary: "A path that does not start with `/`.",
    why: "Paths are relative to the base URL of the integration; any other path would be refused for every event.",
    remedy: "Start the path with `/`.",
    bad: "pipeline:\n  - { type: integration.call, integration: crm, path: contacts }",
    good: "pipeline:\n  - { type: integration.call, integration: crm, path: /contacts }",
  },
} as const satisfies Record<string, LintRule>
