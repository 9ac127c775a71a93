// Received mail, which the screens of conversations show.
import type { Contribution } from "#console"

export default {
  views: [{ area: "email_conversations", navigation: "elsewhere" }],
} satisfies Contribution
