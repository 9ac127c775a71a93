// Screens of events: the list of all pipelines, a page per event, and replay plans for many events.
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
    {
      path: "replay_plans",
      title: "Replay plans",
      needs: ["replay_plans.list"],
      navigation: { group: "Now", order: 15 },
      load: () => import("./plans.tsx"),
    },
    {
      path: "replay_plans/{id}",
      title: "Replay plan",
      needs: ["replay_plans.get", "replay_plans.list_events"],
      load: () => import("./one-plan.tsx"),
    },
  ],
  finders: [{ title: "Find among events", needs: ["events.find"], path: "events", field: "find" }],
} satisfies Contribution
