// The rules of http.request, beside what its schema says.
import type { LintRule } from "#core"

export const httpRequestRules = {
  "credential-in-document": {
    level: "warning",
    summary: "A header that looks like a credential.",
    why: "Documents are shared and committed, and a credential in a document leaks.",
    remedy: "Connect an integration with the credential and use `integration.call`.",
    bad: "pipeline:\n  - { type: http.request, url: https://api.example.com/leads, headers: { Authorization: Bearer 1234 } }",
    good: "pipeline:\n  - { type: integration.call, integration: crm, path: /leads }",
  },
  "relative-url": {
    level: "error",
    summary: "A URL without its scheme and host.",
    why: "The request has no target; the step would fail for every event.",
    remedy: "Write the whole URL, beginning with https:// or http://.",
    bad: "pipeline:\n  - { type: http.request, url: api.example.com/leads }",
    good: "pipeline:\n  - { type: http.request, url: https://api.example.com/leads }",
  },
  "body-without-method": {
    level: "error",
    summary: "A body on a request whose method does not allow one.",
    why: "GET and HEAD requests have no body; the server would not receive it.",
    remedy: "Use `query`, or another method.",
    bad: "pipeline:\n  - { type: http.request, method: GET, url: https://api.example.com/rates, body: { currency: eur } }",
    good: "pipeline:\n  - { type: http.request, method: GET, url: https://api.example.com/rates, query: { currency: eur } }",
  },
} as const satisfies Record<string, LintRule>
