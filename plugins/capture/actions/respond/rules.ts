// The rules of respond, beside what its schema says.
import type { LintRule } from "#core"

export const respondRules = {
  "refused-header": {
    level: "error",
    summary: "A header that a pipeline cannot set.",
    why: "A pipeline may set headers for its body, caching and redirects. Cookies, CORS, lengths, reporting and browser policies affect the whole service, or outlive the response.",
    remedy: "Leave the header out.",
    bad: "pipeline:\n  - { type: respond, headers: { Set-Cookie: seen=1 } }",
    good: "pipeline:\n  - { type: respond, headers: { Cache-Control: no-store } }",
  },
  "invalid-header-value": {
    level: "error",
    summary: "A header's value that no HTTP header can hold.",
    why: "A line break would end the header and begin another; HTTP has no way to send letters outside Latin-1. Each event would fail with it.",
    remedy: "Take line breaks out (a YAML text that begins with `|` ends in one), and percent-encode other letters.",
    bad: 'pipeline:\n  - { type: respond, headers: { X-Note: "one\\ntwo" } }',
    good: 'pipeline:\n  - { type: respond, headers: { X-Note: "one two" } }',
  },
  "redirect-without-location": {
    level: "error",
    summary: "A redirect without a target.",
    why: "A browser shows an empty page for a redirect without a `Location` header.",
    remedy: "Add the header `Location`, or use another status.",
    bad: "pipeline:\n  - { type: respond, status: 303 }",
    good: "pipeline:\n  - { type: respond, status: 303, headers: { Location: https://acme.test/thanks } }",
  },
  "body-without-status": {
    level: "error",
    summary: "A body with a status that does not allow one.",
    why: "Responses with status 204, 205 and 304 have no body; it would be lost.",
    remedy: "Leave `body` out, or use status 200.",
    bad: "pipeline:\n  - { type: respond, status: 204, body: { ok: true } }",
    good: "pipeline:\n  - { type: respond, status: 200, body: { ok: true } }",
  },
} as const satisfies Record<string, LintRule>
