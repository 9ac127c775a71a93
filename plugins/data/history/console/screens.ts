// Views of the trash and the versions, generated from their operations.
import type { Contribution } from "#console"

export default {
  views: [
    {
      area: "trash",
      title: "Trash",
      about: "Deleted items. Each can be restored for 30 days.",
      navigation: { group: "Settings", order: 65 },
      columns: { trash: ["key", "resource", "deleted_at", "expires_at"] },
      called: ["key"],
      first: ["resource", "key", "deleted_at", "expires_at", "item"],
    },
    {
      area: "versions",
      about: "Each change of an item: who made it, and earlier values.",
      columns: { versions: ["revision", "at", "by.user_id as user", "before"] },
    },
  ],
} satisfies Contribution
