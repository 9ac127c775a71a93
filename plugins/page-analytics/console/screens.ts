// Analytics of pages: pictures of what visitors did, and questions in SQL.
import type { Contribution } from "#console"

export default {
  screens: [
    {
      path: "page_analytics",
      title: "Analytics",
      needs: ["page_analytics.query", "page_analytics.status"],
      navigation: { group: "Growth", order: 10 },
      load: () => import("./pictures.tsx"),
    },
    {
      path: "page_analytics/query",
      title: "Ask analytics",
      needs: ["page_analytics.query", "page_analytics.schema"],
      load: () => import("./query.tsx"),
    },
  ],
} satisfies Contribution
