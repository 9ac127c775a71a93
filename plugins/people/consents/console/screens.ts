// Consent screens of the console, built from the operations.
import type { Contribution } from "#console"

export default {
  views: [
    {
      area: "consents",
      about: "Who agreed to what, in which words, and who took it back. Entries are never changed.",
      navigation: { group: "Delivery", order: 40 },
      columns: { consents: ["at", "address", "kind", "channel", "purpose", "source", "wording"] },
    },
  ],
} satisfies Contribution
