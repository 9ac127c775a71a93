// Where a visit comes from, as its address says: utm_* and the click ids of ad networks. Pure.
import type { PageEnvelope } from "#core"

const utm = ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"] as const

/** In the order in which they count where several are there. */
const clickIds = ["gclid", "gbraid", "wbraid", "dclid", "fbclid", "msclkid", "ttclid", "twclid", "li_fat_id", "epik", "rdt_cid", "sccid"]

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
