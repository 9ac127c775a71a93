// Organizations, members and keys: screens for people, and generic views for other operations.
import type { Contribution } from "#console"

export default {
  screens: [
    {
      path: "members",
      title: "Members",
      needs: ["members.list"],
      navigation: { group: "Settings", order: 20 },
      load: () => import("./members.tsx"),
    },
    {
      path: "organizations",
      title: "Your organizations",
      needs: ["organizations.list"],
      navigation: { group: "Settings", order: 12 },
      load: () => import("./organizations.tsx"),
    },
  ],
  parts: [
    {
      of: "no-organization",
      name: "no-organization",
      title: "No organization",
      needs: ["organizations.list"],
      load: () => import("./no-organization.tsx"),
    },
  ],
  views: [
    { area: "organization", navigation: { group: "Settings", order: 10 } },
    { area: "members", called: ["email"], columns: { members: ["email", "name", "role", "staff", "created_at"] } },
    { area: "member_invitations", navigation: "elsewhere" },
    { area: "ownership", navigation: "elsewhere" },
    {
      area: "api_keys",
      title: "API keys",
      navigation: { group: "Settings", order: 30 },
      columns: { api_keys: ["name", "kind", "role", "scopes", "created_at", "last_used_at", "expires_at", "revoked_at"] },
    },
    {
      area: "managed_organizations",
      title: "Managed organizations",
      navigation: { group: "Settings", order: 40 },
      columns: { organizations: ["name", "slug", "role", "created_at"], invitations: ["note", "role", "created_at", "expires_at"] },
    },
  ],
} satisfies Contribution
