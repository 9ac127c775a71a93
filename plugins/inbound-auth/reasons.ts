// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  cannot_sign: { codes: ["invalid_argument", "unimplemented"], summary: "Only the sender can sign such an event." },
  invalid_auth_config: { codes: ["invalid_argument"], summary: "The auth mode's configuration is not valid." },
  unknown_provider: { codes: ["invalid_argument"], summary: "There is no such provider." },
  unusable_secret: { codes: ["invalid_argument"], summary: "The secret's format is not valid." },
})
