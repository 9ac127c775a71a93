// The provider table: the rows of providers.json, by slug. A row that is not as row.ts says is told at start.
import { readFileSync } from "node:fs"
import { z } from "zod"
import { type HandshakeName, handshakes } from "../handshakes/table.ts"
import { DeliveryShape } from "../request/content.ts"
import { Scheme } from "../schemes/scheme.ts"

// One row of providers.json: how one signing scheme of one provider works, as data. Facts come from the providers'
// documentation and their SDKs; a row marked experimental comes from third parties' registries only.

/** Settings of `auth_config` that some providers take. */
export const settingNames = ["header", "query_parameter", "verify_token", "app_key", "topic_arn", "public_key"] as const
const names = z.array(z.enum(settingNames)).default([])
const templates = z.array(z.string()).exactOptional()

export const ProviderRow = z.strictObject({
  slug: z.string().regex(/^[a-z0-9_]+$/),
  name: z.string(),
  scheme: Scheme,
  /** Who makes the secret: we may (`receiver`), only the provider can (`provider`), a published key (`public_key`), nobody. */
  secret: z.enum(["receiver", "provider", "public_key", "none"]),
  /** What the secret is called at the provider. */
  secretName: z.string().exactOptional(),
  /** What a secret must look like beyond its encoding. */
  secretForm: z.strictObject({ pattern: z.string().transform((source) => new RegExp(source)), says: z.string() }).exactOptional(),
  /** Templates, alternatives in order, of `{header:NAME}` and `{body:PATH}`. */
  eventId: templates,
  eventType: templates,
  delivery: DeliveryShape.exactOptional(),
  handshake: z.enum(Object.keys(handshakes) as HandshakeName[]).exactOptional(),
  ack_timeout_s: z.number().positive().exactOptional(),
  /** False where the provider does not repeat an unanswered event; true where it does or nothing is known. */
  retries: z.boolean().default(true),
  settings: z.strictObject({ required: names, optional: names }).prefault({}),
  experimental: z.boolean().default(false),
  /** When the facts of the row were read, and in which pages and sources. */
  facts: z.strictObject({ date: z.iso.date(), sources: z.array(z.string().min(1)).min(1) }),
  /** Notes for connecting this provider. */
  note: z.string().exactOptional(),
})
export type ProviderRow = z.output<typeof ProviderRow>

/** Whether the proof covers the payload, so that its fields can be trusted for dedupe. */
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
      // A CRC, which is what PayPal signs of the body, is not protection against a body made to fit it.
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
