// Keys, members and organizations, as the console makes them of their operations.
import type { Contribution } from "#console"

export default {
  views: [
    { area: "organization", navigation: { group: "Settings", order: 10 } },
    {
      area: "members",
      navigation: { group: "Settings", order: 20 },
      called: ["email"],
      columns: { members: ["email", "name", "role", "staff", "created_at"] },
    },
    {
      area: "api_keys",
      title: "API keys and sessions",
      navigation: { group: "Settings", order: 30 },
      columns: { api_keys: ["name", "kind", "role", "scopes", "created_at", "last_used_at", "expires_at", "revoked_at"] },
    },
    {
      area: "managed_organizations",
      title: "Managed organizations",
      navigation: { group: "Settings", order: 40 },
      columns: { organizations: ["name", "slug", "role", "created_at"], invitations: ["note", "role", "created_at", "expires_at"] },
    },
    { area: "me", title: "Signed in as", navigation: { group: "Settings", order: 90 } },
  ],
} satisfies Contribution
