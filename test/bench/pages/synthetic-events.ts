// Synthetic page events, each a function of its number: sessions of eight on fifty pages over thirty days, with campaigns,
// devices, in-app browsers, vitals and leads in plausible shares.
import { derivedUuid, type Json } from "#core"
import type { Row } from "../../../plugins/data/datasets/index.ts"

export const firstAt = Date.UTC(2026, 0, 1)
const spanMs = 30 * 86_400_000
const perSession = 8

const sources = ["", "google", "meta", "tiktok", "newsletter", "partner"]
const devices = ["mobile", "mobile", "mobile", "desktop", "desktop", "tablet"]
const browsers = ["chrome", "safari", "firefox", "edge", "samsung", "other"]
const inApps = ["", "", "", "instagram", "facebook", "tiktok"]
const countries = ["DE", "FR", "US", "GB", "AT", "CH", "NL"]
const vitals = ["LCP", "INP", "CLS"]
const pages = Array.from({ length: 50 }, (_, n) => derivedUuid("bench-page", String(n)))

/** Returns a number in [0, 1), derived from two numbers. */
function chance(seed: number, salt: number): number {
  let x = Math.imul(seed ^ (salt * 0x9e3779b1), 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
  return ((x ^ (x >>> 16)) >>> 0) / 4_294_967_296
}

const pick = <T>(list: readonly T[], seed: number, salt: number): T => list[Math.floor(chance(seed, salt) * list.length)] as T

export function timeOf(index: number, count: number): number {
  return firstAt + Math.floor((index / count) * spanMs)
}

export function rowAt(index: number, count: number, datasetId: string): Row {
  const session = Math.floor(index / perSession)
  const at = new Date(timeOf(index, count)).toISOString()
  const hex = index.toString(16).padStart(12, "0")
  const page = Math.floor(chance(session, 1) ** 2 * pages.length)
  return {
    id: `0190f0c0-0000-8000-${(0x8000 | (session & 0xfff)).toString(16)}-${hex}`,
    dataset_id: datasetId,
    created_at: at,
    updated_at: at,
    values: {
      event_id: `${Math.floor(chance(index, 9) * 4_294_967_296)
        .toString(16)
        .padStart(8, "0")}-${hex}`,
      artifact_id: pages[page] ?? "",
      page_url: `https://acme.test/p/${page}`,
      variant: "abc"[session % 3] ?? "a",
      session_id: `s${session.toString(36).padStart(20, "0")}`,
      utm_source: pick(sources, session, 2),
      utm_medium: "cpc",
      utm_campaign: `campaign-${Math.floor(chance(session, 3) * 40)}`,
      utm_term: "",
      utm_content: "",
      click_id: "",
      click_id_type: "",
      at,
      is_test: chance(session, 4) < 0.01,
      device_type: pick(devices, session, 5),
      browser: pick(browsers, session, 6),
      in_app: pick(inApps, session, 7),
      language: "de",
      country: pick(countries, session, 8),
      region: "",
      city: "",
      ...kindOf(index, session),
    },
  }
}

/** A session starts with its page view. Its last event may be a lead. */
function kindOf(index: number, session: number): Record<string, Json> {
  const place = index % perSession
  if (place === 0) return { event: "pageview" }
  if (place === perSession - 1) {
    const end = chance(session, 10)
    if (end < 0.08) return { event: "lead", form: "contact" }
    if (end < 0.2)
      return {
        event: "form_abandon",
        form: "contact",
        field_count: 2,
        fields_touched: "name,email",
        last_field: "email",
        duration_ms: 40_000,
      }
    return { event: "section_view", section: "pricing" }
  }
  const kind = chance(index, 11)
  if (kind < 0.35) return { event: "scroll_milestone", scroll_depth: [25, 50, 75, 90, 100][Math.min(place, 4)] ?? 25 }
  if (kind < 0.6)
    return {
      event: "web_vital",
      vital_name: pick(vitals, index, 12),
      vital_value: Math.round(chance(index, 13) * 4_000),
      vital_rating: "good",
    }
  if (kind < 0.75) return { event: "cta_click", element: "buy", x: 100, y: 200 }
  if (kind < 0.85) return { event: "form_start", form: "contact", field: "name" }
  if (kind < 0.9) return { event: "video_play", video: "intro" }
  return { event: "section_view", section: "features" }
}
