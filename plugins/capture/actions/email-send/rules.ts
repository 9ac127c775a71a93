// The rules of email.send, beside what its schema says.
import type { LintRule } from "#core"

export const emailSendRules = {
  "marketing-recipients": {
    level: "error",
    summary: "A marketing message with several recipients.",
    why: "Its unsubscribe link is that of one recipient; the others would unsubscribe that one, or could not unsubscribe at all.",
    remedy: "Send it to one address, in `for_each` where there are several, or make it transactional.",
    bad: 'pipeline:\n  - { type: email.send, category: marketing, to: "{{ event.email }}", bcc: team@example.com, heading: News }',
    good: 'pipeline:\n  - { type: email.send, category: marketing, to: "{{ event.email }}", heading: News }',
  },
} as const satisfies Record<string, LintRule>
