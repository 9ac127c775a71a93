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
  parts: [
    {
      of: "frame",
      name: "passkey-offer",
      title: "Passkey offer",
      needs: ["passkeys.list", "passkeys.add"],
      load: () => import("./passkey-offer.tsx"),
    },
  ],
  views: [
    { area: "me", navigation: "elsewhere" },
    { area: "sessions", navigation: "elsewhere" },
    { area: "passkeys", navigation: "elsewhere" },
  ],
} satisfies Contribution
