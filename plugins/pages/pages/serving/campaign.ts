// Where a visit comes from, as its address says: utm_* and the click ids of ad networks. Pure.
import type { PageEnvelope } from "#core/engine"

const utm = ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"] as const

/** In the order in which they count where several are there. */
const clickIds = ["gclid", "gbraid", "wbraid", "dclid", "fbclid", "msclkid", "ttclid", "twclid", "li_fat_id", "epik", "rdt_cid", "sccid"]

const campaignFields = [...utm, "click_id", "click_id_type"] as const

/** The campaign that a page says: its address's, or else the session's, as far as either has one. */
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
