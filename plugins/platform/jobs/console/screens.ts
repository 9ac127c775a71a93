// The queue's card of the overview.
import type { Contribution } from "#console"

export default {
  cards: [{ title: "Queue", needs: ["jobs.list"], order: 20, load: () => import("./card.tsx") }],
  views: [
    {
      area: "jobs",
      navigation: { group: "Now", order: 40 },
      called: ["type"],
      columns: { jobs: ["type", "state", "last_error", "attempts", "run_at"] },
    },
  ],
} satisfies Contribution
