// The provider table: rows of providers.json by slug. Invalid rows fail the start.
import { readFileSync } from "node:fs"
import { z } from "zod"
import { type HandshakeName, handshakes } from "../handshakes/table.ts"
import { DeliveryShape } from "../request/content.ts"
import { Scheme } from "../schemes/scheme.ts"

// One row of providers.json describes one signing scheme of one provider. Facts come from the providers' documentation and SDKs.
// Facts of experimental rows come from third parties' registries only.

/** Settings in `auth_config` used by some providers. */
export const settingNames = ["header", "query_parameter", "verify_token", "app_key", "topic_arn", "public_key"] as const
const names = z.array(z.enum(settingNames)).default([])
const templates = z.array(z.string()).exactOptional()

export const ProviderRow = z.strictObject({
  slug: z.string().regex(/^[a-z0-9_]+$/),
  name: z.string(),
  scheme: Scheme,
  /**
   * Creator of the secret. `receiver`: this service or the provider. `provider`: the provider only. `public_key`: a published key
   * replaces the secret. `none`: the provider has no secret.
   */
  secret: z.enum(["receiver", "provider", "public_key", "none"]),
  /** Name of the secret at the provider. */
  secretName: z.string().exactOptional(),
  /** Format of a secret beyond its encoding. */
  secretForm: z.strictObject({ pattern: z.string().transform((source) => new RegExp(source)), says: z.string() }).exactOptional(),
  /** Alternative templates in order, with `{header:NAME}` and `{body:PATH}`. */
  eventId: templates,
  eventType: templates,
  delivery: DeliveryShape.exactOptional(),
  handshake: z.enum(Object.keys(handshakes) as HandshakeName[]).exactOptional(),
  ack_timeout_s: z.number().positive().exactOptional(),
  /** False if the provider does not repeat an unanswered event. True if it does, or if its behaviour is unknown. */
  retries: z.boolean().default(true),
  settings: z.strictObject({ required: names, optional: names }).prefault({}),
  experimental: z.boolean().default(false),
  /** Date and sources of the row's facts. */
  facts: z.strictObject({ date: z.iso.date(), sources: z.array(z.string().min(1)).min(1) }),
  /** Notes for connecting this provider. */
  note: z.string().exactOptional(),
})
export type ProviderRow = z.output<typeof ProviderRow>

/** Returns true if the signature covers the payload. Dedupe can then trust its fields. */
export function coversBody(scheme: Scheme): boolean {
  switch (scheme.kind) {
    case "standard_webhooks":
      return true
    case "jwt":
      return scheme.bodyHash !== undefined || scheme.detached === true
    case "token_header":
    case "token_body":
    case "basic_auth":
    case "none":
      return false
    default:
      if ("items" in scheme) return false
      // PayPal signs only a CRC of the body. A forged body can be made to fit a CRC.
      if ("certificate" in scheme) return scheme.certificate === "aws_sns"
      return (
        scheme.canonical !== undefined ||
        ("guard" in scheme && scheme.guard !== undefined) ||
        /\{(?:body|sorted_form)\}/.test(scheme.signed)
      )
  }
}

export const providerRows: readonly ProviderRow[] = z
  .array(ProviderRow)
  .parse(JSON.parse(readFileSync(new URL("./providers.json", import.meta.url), "utf8")))

const bySlug = new Map(providerRows.map((row) => [row.slug, row]))

export const providerSlugs: readonly string[] = providerRows.map((row) => row.slug)

export function findProvider(slug: string): ProviderRow | undefined {
  return bySlug.get(slug)
}
