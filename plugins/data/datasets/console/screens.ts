// Screens of datasets: the list, and one dataset's rows.
import type { Contribution } from "#console"

export default {
  screens: [
    {
      path: "datasets",
      title: "Datasets",
      needs: ["datasets.list"],
      navigation: { group: "Data", order: 10 },
      load: () => import("./list.tsx"),
    },
    { path: "datasets/{slug}", title: "Dataset", needs: ["datasets.get", "datasets.list_rows"], load: () => import("./rows.tsx") },
  ],
  views: [{ area: "datasets", isSought: true }],
} satisfies Contribution
