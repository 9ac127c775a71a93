// The queue's card of the overview.
import type { Contribution } from "#console"

export default {
  cards: [{ title: "Queue", needs: ["jobs.list"], order: 20, load: () => import("./card.tsx") }],
} satisfies Contribution
