// The generic console view of the audit log.
import type { Contribution } from "#console"

export default {
  views: [
    {
      area: "audit_log",
      about: "Who changed what, when and by which way in.",
      navigation: { group: "Settings", order: 60 },
      columns: { audit_log: ["at", "operation", "target", "changes", "actor.surface as way in", "actor.user_id as user"] },
    },
  ],
} satisfies Contribution
