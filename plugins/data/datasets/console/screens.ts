// Datasets: the list, and the rows of one.
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
