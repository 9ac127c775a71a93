// The generic console view of autonomy gates.
import type { Contribution } from "#console"

export default {
  views: [
    {
      area: "autonomy_gates",
      title: "What needs approval",
      about: "Gates that hold back what agents and pipelines do until a person has approved it.",
      navigation: { group: "Settings", order: 50 },
      columns: { known: ["name", "risk", "summary", "holds", "liftable"] },
    },
  ],
} satisfies Contribution
