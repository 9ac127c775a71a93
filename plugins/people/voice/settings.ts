// Operator settings: Twilio's API addresses, and the policy of caller names.
import { z } from "zod"

const Base = z
  .string()
  .regex(/^https?:\/\/[^\s?#@\\]+[^\s?#@\\/]$/, "an absolute http(s) URL without query, user name or a slash at its end")

export const VoiceSettings = z.strictObject({
  trust_hub_url: Base.default("https://trusthub.twilio.com").describe("Where Twilio's Trust Hub is."),
  twilio_url: Base.default("https://api.twilio.com").describe("Where Twilio's API is, which knows an account's numbers."),
  cnam_policy_sid: z
    .string()
    .regex(/^RN[0-9a-f]{32}$/, "a policy SID: RN and 32 hexadecimal digits")
    .default("RNf3db3cd1fe25fcfd3c3ded065c8fea53")
    .describe("Trust Hub's policy of caller names in the United States."),
})
export type VoiceSettings = z.output<typeof VoiceSettings>
