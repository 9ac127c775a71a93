// Suppression screens of the console, built from the operations.
import type { Contribution } from "#console"

export default {
  views: [
    {
      area: "suppressions",
      about: "Addresses that get no mail: they bounced, complained, or somebody asked for it.",
      navigation: { group: "Delivery", order: 50 },
      columns: { suppressions: ["address", "reason", "evidence.report", "source", "created_at"] },
    },
  ],
} satisfies Contribution
