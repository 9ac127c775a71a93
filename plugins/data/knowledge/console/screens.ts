// Views of knowledge, generated from its operations.
import type { Contribution } from "#console"

export default {
  views: [
    {
      area: "knowledge",
      isSought: true,
      about: "What the organization knows: found by its words, and by meaning where an embedding model is set up.",
      navigation: { group: "Data", order: 20 },
      first: ["description", "category", "content_state", "content_message", "updated_at", "content"],
      columns: { items: ["title", "category", "highlights.0.text as found", "description", "type", "content_state", "updated_at"] },
    },
  ],
  finders: [{ title: "Search knowledge", needs: ["knowledge.search"], path: "knowledge", field: "q" }],
} satisfies Contribution
