// The rules of integration.call, beside what its schema says.
import type { LintRule } from "#core"

export const integrationCallRules = {
  "unencoded-path": {
    level: "warning",
    summary: "A value of the event stands in a path as it is.",
    why: "A `/` or `..` in the value would reach another resource than the one meant.",
    remedy: "Put the value through `url_encode`.",
    bad: 'pipeline:\n  - { type: integration.call, integration: crm, path: "/contacts/{{ event.id }}" }',
    good: 'pipeline:\n  - { type: integration.call, integration: crm, path: "/contacts/{{ event.id | url_encode }}" }',
  },
  "integration-path": {
    level: "error",
    summary: "A path that does not begin with `/`.",
    why: "Paths stand below the base URL of the integration; anything else would be refused for every event.",
    remedy: "Begin the path with `/`.",
    bad: "pipeline:\n  - { type: integration.call, integration: crm, path: contacts }",
    good: "pipeline:\n  - { type: integration.call, integration: crm, path: /contacts }",
  },
} as const satisfies Record<string, LintRule>
