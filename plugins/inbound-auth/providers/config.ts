// `auth_config` of provider_signature, without its secret. Which settings a provider takes is checked against its row.
import { z } from "zod"
import { HeaderName } from "../modes/header-name.ts"
import { findProvider, providerSlugs } from "./table.ts"

const fields = z.strictObject({
  provider: z.string().min(1).max(64).describe("Slug of the provider; one row of the provider table."),
  tolerance_s: z
    .int()
    .min(1)
    .max(604_800)
    .optional()
    .describe("Window of the timestamp in seconds, to both sides, in place of the provider's."),
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

export type ProviderConfig = z.output<typeof fields>
export type SettingName = "header" | "query_parameter" | "verify_token" | "app_key" | "topic_arn" | "public_key"

const settingNames = ["header", "query_parameter", "verify_token", "app_key", "topic_arn", "public_key"] as const

export const ProviderConfig = fields.superRefine((config, context) => {
  const row = findProvider(config.provider)
  if (!row) {
    const near = nearSlugs(config.provider)
    const guess = near.length > 0 ? ` Did you mean ${near.join(" or ")}?` : ""
    context.addIssue({
      code: "custom",
      path: ["provider"],
      message: `no provider "${config.provider}" is known.${guess} Senders that sign in the plain way fit auth_mode hmac_sha256.`,
    })
    return
  }
  const required = row.settings?.required ?? []
  const allowed = new Set<string>([...required, ...(row.settings?.optional ?? [])])
  for (const name of required) {
    if (config[name] === undefined) context.addIssue({ code: "custom", path: [name], message: `${row.name} needs auth_config.${name}` })
  }
  for (const name of settingNames) {
    if (config[name] !== undefined && !allowed.has(name))
      context.addIssue({ code: "custom", path: [name], message: `${row.name} has no use for auth_config.${name}` })
  }
  if (config.tolerance_s !== undefined && !hasTimestamp(row.scheme)) {
    context.addIssue({ code: "custom", path: ["tolerance_s"], message: `${row.name} signs no timestamp, so there is no window to set` })
  }
})

function hasTimestamp(scheme: object): boolean {
  return "timestamp" in scheme || ("kind" in scheme && scheme.kind === "jwt")
}

function nearSlugs(given: string): string[] {
  const plain = given.toLowerCase().replaceAll("-", "_")
  const stem = plain.split("_")[0] ?? plain
  return providerSlugs.filter((slug) => slug === plain || slug.startsWith(stem) || plain.startsWith(slug)).slice(0, 4)
}
