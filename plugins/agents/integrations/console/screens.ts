// Console: the card of failing connections, and the list views.
import type { Contribution } from "#console"

export default {
  cards: [{ title: "Connections", needs: ["integrations.list"], order: 30, load: () => import("./card.tsx") }],
  views: [
    {
      area: "integrations",
      isSought: true,
      navigation: { group: "Delivery", order: 10 },
      columns: { integrations: ["name", "app", "status", "health.status", "shared", "updated_at"] },
    },
    {
      area: "integration_apps",
      title: "Integration apps",
      navigation: { group: "Delivery", order: 12 },
      columns: { integration_apps: ["name", "slug", "auth_kinds", "summary", "own"] },
    },
    { area: "integration_oauth_clients", title: "OAuth clients", navigation: { group: "Delivery", order: 14 } },
  ],
} satisfies Contribution
