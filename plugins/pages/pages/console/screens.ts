// Screens of pages: the list, and one page with pictures of its variants.
import type { Contribution } from "#console"

export default {
  screens: [
    {
      path: "pages",
      title: "Pages",
      needs: ["pages.list"],
      navigation: { group: "Growth", order: 5 },
      load: () => import("./list.tsx"),
    },
    { path: "pages/{slug}", title: "Page", needs: ["pages.get"], load: () => import("./one.tsx") },
  ],
  views: [{ area: "pages", isSought: true }],
} satisfies Contribution
