// The card of the overview that shows incoming events.
import type { Contribution } from "#console"

export default {
  cards: [{ title: "Events a minute", needs: ["event_pipelines.activity"], order: 5, isWide: true, load: () => import("./card.tsx") }],
} satisfies Contribution
