// The account of the signed-in person.
import type { Contribution } from "#console"

export default {
  screens: [
    {
      path: "account",
      title: "Your account",
      needs: ["me.get"],
      navigation: { group: "Settings", order: 90 },
      load: () => import("./account.tsx"),
    },
  ],
  views: [
    { area: "me", navigation: "elsewhere" },
    { area: "sessions", navigation: "elsewhere" },
    { area: "passkeys", navigation: "elsewhere" },
  ],
} satisfies Contribution
