// Events: those of all pipelines as they come, and each on a page of its own.
import type { Contribution } from "#console"

export default {
  screens: [
    {
      path: "events",
      title: "Events",
      needs: ["events.list"],
      navigation: { group: "Now", order: 10 },
      load: () => import("./list.tsx"),
    },
    { path: "events/{id}", title: "Event", needs: ["events.get"], load: () => import("./one.tsx") },
  ],
} satisfies Contribution
