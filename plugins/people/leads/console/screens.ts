// Lead screens of the console, built from the operations.
import type { Contribution } from "#console"

export default {
  views: [
    {
      area: "leads",
      about: "Each person who got in touch, once, whichever way they came.",
      navigation: { group: "Growth", order: 30 },
      called: ["name", "emails.0", "phones.0"],
      first: ["emails", "phones", "first_seen_at", "last_seen_at", "time_zone", "lead_reference", "possible_duplicates"],
      columns: { leads: ["name", "emails", "phones", "first_seen_at", "last_seen_at"], timeline: ["at", "kind", "summary"] },
    },
  ],
} satisfies Contribution
