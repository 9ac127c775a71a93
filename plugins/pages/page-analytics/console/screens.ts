// Screens of page analytics: pictures of visitors' actions, and SQL queries.
import type { Contribution } from "#console"

export default {
  parts: [
    {
      of: "pages/{slug}",
      name: "visitors",
      title: "Visitors",
      needs: ["page_analytics.query", "page_analytics.status"],
      load: () => import("./of-page.tsx"),
    },
  ],
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
    {
      path: "page_analytics/reports",
      title: "Reports of analytics",
      needs: ["page_analytics.list_reports"],
      load: () => import("./reports.tsx"),
    },
    {
      path: "page_analytics/reports/{slug}",
      title: "Report",
      needs: ["page_analytics.get_report", "page_analytics.run_report"],
      load: () => import("./report.tsx"),
    },
  ],
} satisfies Contribution
