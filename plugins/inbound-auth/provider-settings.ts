// Settings of providers in `auth_config`. The provider's row lists its own settings.
import { z } from "zod"
import { HeaderName } from "./checks/secret-header.ts"
import { providerSlugs } from "./providers/table.ts"

export const settingFields = z.strictObject({
  provider: z
    .string()
    .min(1)
    .max(64)
    .describe("Slug of the provider, one of docs/reference/providers.md.")
    // For editors and readers of the schema. config.ts reports wrong values, with a suggestion.
    .meta({ enum: [...providerSlugs] }),
  tolerance_s: z
    .int()
    .min(1)
    .max(604_800)
    .optional()
    .describe("Tolerance of the timestamp in seconds, in both directions, instead of the provider's."),
  header: HeaderName.optional().describe("Header that carries the token, where the provider lets its customer name it."),
  query_parameter: z
    .string()
    .regex(/^[\w.-]{1,64}$/, "letters, digits, _, . and -")
    .optional()
    .describe("Query parameter of the URL that must hold the secret, for a provider that signs nothing."),
  verify_token: z
    .string()
    .min(8)
    .max(200)
    .optional()
    .describe("Token typed into the provider's set-up page, checked in its GET handshake."),
  app_key: z.string().min(1).max(200).optional().describe("Public key or id of the app, part of the signed text."),
  topic_arn: z
    .string()
    .regex(/^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w.-]{1,256}$/, "an SNS topic ARN")
    .optional()
    .describe("The one SNS topic whose messages are accepted."),
  public_key: z.string().min(1).max(20_000).optional().describe("JWK or JWKS to verify with, in place of the provider's published keys."),
})

export type ProviderConfig = z.output<typeof settingFields>
