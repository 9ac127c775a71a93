// Screens of experiments: the list, one experiment with its report, and a card of running experiments.
import type { Contribution } from "#console"

export default {
  screens: [
    {
      path: "experiments",
      title: "Experiments",
      needs: ["experiments.list"],
      navigation: { group: "Growth", order: 20 },
      load: () => import("./list.tsx"),
    },
    { path: "experiments/{slug}", title: "Experiment", needs: ["experiments.report"], load: () => import("./one.tsx") },
  ],
  cards: [{ title: "Experiments", needs: ["experiments.list", "experiments.live"], order: 50, load: () => import("./card.tsx") }],
  views: [
    { area: "experiments", isSought: true },
    {
      area: "personas",
      navigation: { group: "Growth", order: 40 },
      columns: { personas: ["name", "description", "goals", "fears", "updated_at"] },
    },
    {
      area: "judges",
      navigation: { group: "Growth", order: 45 },
      columns: {
        judges: [
          "judge_slug",
          "kind",
          "health.rounds",
          "health.self_agreement.value",
          "calibration.experiments",
          "calibration.hit_rate.value",
        ],
      },
    },
    { area: "page_feedback", navigation: "elsewhere" },
  ],
} satisfies Contribution
