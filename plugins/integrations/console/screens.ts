// The card of connections in trouble.
import type { Contribution } from "#console"

export default {
  cards: [{ title: "Connections", needs: ["integrations.list"], order: 30, load: () => import("./card.tsx") }],
} satisfies Contribution
