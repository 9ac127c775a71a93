// Screens of event pipelines: the list, one pipeline, and a new one.
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
  views: [{ area: "event_pipelines", title: "Pipelines", isSought: true }],
} satisfies Contribution
