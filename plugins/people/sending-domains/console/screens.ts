// Sending domains: their expected and actual DNS records, and a card of the domains with problems.
import type { Contribution } from "#console"

export default {
  screens: [{ path: "sending_domains/{domain}", title: "Sending domain", needs: ["sending_domains.get"], load: () => import("./one.tsx") }],
  cards: [{ title: "Sending domains", needs: ["sending_domains.list"], order: 40, load: () => import("./card.tsx") }],
  views: [
    {
      area: "sending_domains",
      isSought: true,
      title: "Sending domains",
      navigation: { group: "Delivery", order: 20 },
      columns: { sending_domains: ["domain", "status", "from_email", "error_reason", "last_checked_at"] },
    },
  ],
} satisfies Contribution
