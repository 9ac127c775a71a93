// The provider table as documentation, for the reference page, the API's list of auth modes and the CLI.

import { secretOf } from "./providers/secret.ts"
import { coversBody, type ProviderRow, providerRows } from "./providers/table.ts"

export interface ProviderFacts {
  readonly provider: string
  readonly name: string
  readonly scheme: string
  /** Place of the credential, for example `header x-signature`. */
  readonly proof: readonly string[]
  readonly signed: string | null
  /** Seconds, if a timestamp is signed. */
  readonly tolerance_s: number | null
  readonly secret: "none" | "generated" | "provided"
  readonly secret_name: string | null
  readonly event_id: readonly string[]
  readonly event_type: readonly string[]
  readonly answers_handshake: boolean
  readonly ack_timeout_s: number | null
  readonly retries: boolean
  readonly covers_body: boolean
  /** Formats besides JSON and plain forms. */
  readonly formats: readonly string[]
  readonly required_settings: readonly string[]
  readonly optional_settings: readonly string[]
  /** Known from third parties only. */
  readonly experimental: boolean
  readonly note: string | null
  /** Date of reading the facts. */
  readonly facts_date: string
  /** Pages and sources of the facts. */
  readonly sources: readonly string[]
}

export function providerFacts(): ProviderFacts[] {
  return providerRows.map((row) => ({
    provider: row.slug,
    name: row.name,
    scheme: row.scheme.kind,
    proof: proofPlaces(row),
    signed: "signed" in row.scheme ? row.scheme.signed : null,
    tolerance_s: tolerance(row),
    secret: secretOf(row, {}),
    secret_name: row.secretName ?? null,
    event_id: row.eventId ?? [],
    event_type: row.eventType ?? [],
    answers_handshake: row.handshake !== undefined,
    ack_timeout_s: row.ack_timeout_s ?? null,
    retries: row.retries,
    covers_body: coversBody(row.scheme),
    formats: formatsOf(row),
    required_settings: row.settings.required,
    optional_settings: row.settings.optional,
    experimental: row.experimental,
    note: row.note ?? null,
    facts_date: row.facts.date,
    sources: row.facts.sources,
  }))
}

function formatsOf({ delivery = {} }: ProviderRow): string[] {
  const { field, jsonFields = [], xml, mayBeEmpty, get } = delivery
  return [
    ...(field === undefined ? [] : [`JSON in the form field ${field}`]),
    ...jsonFields.map((name) => `a form with JSON in ${name}`),
    ...(xml ? ["XML"] : []),
    ...(mayBeEmpty ? ["requests without a body"] : []),
    ...(get ? ["GET"] : []),
  ]
}

function proofPlaces({ scheme }: ProviderRow): string[] {
  if (scheme.kind === "standard_webhooks") return ["header webhook-signature", "header svix-signature"]
  if (scheme.kind === "basic_auth") return ["header authorization"]
  if (scheme.kind === "none") return []
  if (scheme.kind === "jwt") return [`header ${scheme.header}`]
  if ("at" in scheme) return [scheme.at.replace(":", " ")]
  if ("signature" in scheme) return scheme.signature.at.map((place) => place.replace(":", " "))
  if ("items" in scheme) return ["body notificationItems[].NotificationRequestItem.additionalData.hmacSignature"]
  return [scheme.certificate === "paypal" ? "header paypal-transmission-sig" : "body Signature"]
}

function tolerance({ scheme }: ProviderRow): number | null {
  if ("timestamp" in scheme) return scheme.timestamp?.tolerance_s ?? null
  return scheme.kind === "jwt" ? (scheme.tolerance_s ?? null) : null
}
