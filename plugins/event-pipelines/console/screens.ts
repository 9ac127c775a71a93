// Event pipelines: the list, one with all that there is to see of it, a new one, and what comes in as a card of the overview.
import type { Contribution } from "#console"

export default {
  screens: [
    {
      path: "event_pipelines",
      title: "Pipelines",
      needs: ["event_pipelines.list"],
      navigation: { group: "Now", order: 20 },
      load: () => import("./list.tsx"),
    },
    { path: "event_pipelines/{slug}", title: "Pipeline", needs: ["event_pipelines.get"], load: () => import("./one.tsx") },
    {
      path: "new-pipeline",
      title: "New pipeline",
      needs: ["event_pipelines.create", "event_pipelines.validate"],
      load: () => import("./new.tsx"),
    },
  ],
  cards: [{ title: "Events a minute", needs: ["event_pipelines.activity"], order: 5, isWide: true, load: () => import("./card.tsx") }],
  views: [{ area: "event_pipelines", title: "Pipelines", isSought: true }],
} satisfies Contribution
