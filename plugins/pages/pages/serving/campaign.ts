// Reads the campaign of a visit from its URL: utm_* and the click ids of ad networks. Pure.
import type { PageEnvelope } from "#core/engine"

const utm = ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"] as const

/** In order of precedence. */
const clickIds = ["gclid", "gbraid", "wbraid", "dclid", "fbclid", "msclkid", "ttclid", "twclid", "li_fat_id", "epik", "rdt_cid", "sccid"]

const campaignFields = [...utm, "click_id", "click_id_type"] as const

/**
 * Returns the session's campaign if the envelope has none of its own. Otherwise returns no fields, so the envelope's campaign
 * counts.
 */
export function campaignOr(envelope: Partial<PageEnvelope>, session: Readonly<Record<string, string>> = {}): Partial<PageEnvelope> {
  if (campaignFields.some((name) => envelope[name])) return {}
  return Object.fromEntries(campaignFields.flatMap((name) => (session[name] ? [[name, session[name]]] : [])))
}

export function campaignOf(query: URLSearchParams): Partial<PageEnvelope> {
  const out: Partial<PageEnvelope> = {}
  for (const name of utm) {
    const value = query.get(name)?.trim().slice(0, 500)
    if (value) out[name] = value
  }
  const type = clickIds.find((name) => query.get(name))
  const id = type && query.get(type)?.slice(0, 500)
  if (type && id) {
    out.click_id = id
    out.click_id_type = type
  }
  return out
}
