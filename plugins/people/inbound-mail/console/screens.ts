// Received mail. The conversation screens show it.
import type { Contribution } from "#console"

export default {
  views: [{ area: "email_conversations", navigation: "elsewhere" }],
} satisfies Contribution
