// Models and what they cost, as the console makes them of their operation.
import type { Contribution } from "#console"

export default {
  views: [{ area: "models", title: "Models and their cost", navigation: { group: "Agents", order: 80 } }],
} satisfies Contribution
