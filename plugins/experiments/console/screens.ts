// The card of experiments that run, and of those that can be decided.
import type { Contribution } from "#console"

export default {
  cards: [{ title: "Experiments", needs: ["experiments.list", "experiments.live"], order: 50, load: () => import("./card.tsx") }],
} satisfies Contribution
