// Approvals: the screens, and the card of the overview.
import type { Contribution } from "#console"

export default {
  screens: [
    {
      path: "approvals",
      title: "Approvals",
      needs: ["approvals.list"],
      navigation: { group: "Now", order: 20 },
      load: () => import("./list.tsx"),
    },
    { path: "approvals/{id}", title: "Approval", needs: ["approvals.get"], load: () => import("./one.tsx") },
  ],
  cards: [{ title: "Approvals that wait", needs: ["approvals.list"], order: 10, load: () => import("./card.tsx") }],
} satisfies Contribution
