// The sample's screens and card.
import type { Contribution } from "#console"

export default {
  screens: [
    {
      path: "sample",
      title: "Sample",
      needs: ["datasets.list"],
      navigation: { group: "Settings" },
      load: () => import("./parts.tsx"),
    },
    { path: "sample/{slug}/edit", title: "Sample editor", needs: ["datasets.list"], load: () => import("./edit.tsx") },
    { path: "sample/secret", title: "Sample secrets", needs: ["api_keys.create"], load: () => import("./parts.tsx") },
  ],
  cards: [{ title: "Sample card", needs: ["datasets.list"], load: () => import("./card.tsx") }],
} satisfies Contribution
