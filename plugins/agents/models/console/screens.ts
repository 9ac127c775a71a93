// Console screens of models and their cost, built from the operation.
import type { Contribution } from "#console"

export default {
  views: [{ area: "models", title: "Models and their cost", navigation: { group: "Agents", order: 80 } }],
} satisfies Contribution
