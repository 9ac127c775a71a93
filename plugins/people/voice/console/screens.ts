// Caller name screens of the console, built from the operations.
import type { Contribution } from "#console"

export default {
  views: [{ area: "voice", title: "Caller names", navigation: { group: "Delivery", order: 60 } }],
} satisfies Contribution
