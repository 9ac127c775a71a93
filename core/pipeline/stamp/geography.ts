// Country, region and city from the headers that an edge network adds. Only the configured edge is believed: without one
// in front, anyone can send these headers. Sources: the networks' own documentation of their request headers.
import type { CoreConfig } from "../../kernel/config-schema.ts"
import type { Headers } from "./headers.ts"

export interface Geography {
  /** ISO 3166-1 alpha-2, upper case. */
  readonly country: string
  /** ISO 3166-2, country included: `US-CA`. */
  readonly region: string
  readonly city: string
}

type Edge = Exclude<CoreConfig["inbound"]["geo"], "none">

const headerNames: Record<Edge, { country: string; region: string; city: string }> = {
  cloudflare: { country: "cf-ipcountry", region: "cf-region-code", city: "cf-ipcity" },
  vercel: { country: "x-vercel-ip-country", region: "x-vercel-ip-country-region", city: "x-vercel-ip-city" },
  cloudfront: { country: "cloudfront-viewer-country", region: "cloudfront-viewer-country-region", city: "cloudfront-viewer-city" },
  fastly: { country: "fastly-geo-country", region: "fastly-geo-region", city: "fastly-geo-city" },
}

const nowhere: Geography = { country: "", region: "", city: "" }

/** Cloudflare's XX (unknown) and T1 (Tor) are not countries. */
const noCountry = new Set(["XX", "T1"])

export function geographyOf(headers: Headers, edge: CoreConfig["inbound"]["geo"]): Geography {
  if (edge === "none") return nowhere
  const names = headerNames[edge]
  const country = text(headers[names.country]).toUpperCase()
  if (!/^[A-Z0-9]{2}$/.test(country) || noCountry.has(country)) return nowhere
  // Edges send the subdivision, with the country in front or without.
  const given = text(headers[names.region]).toUpperCase()
  const subdivision = given.startsWith(`${country}-`) ? given.slice(country.length + 1) : given
  const region = /^[A-Z0-9]{1,3}$/.test(subdivision) ? `${country}-${subdivision}` : ""
  return { country, region, city: decoded(text(headers[names.city])).slice(0, 200) }
}

function text(value: string | readonly string[] | undefined): string {
  return (typeof value === "string" ? value : (value?.[0] ?? "")).trim()
}

/** City names come percent-encoded from some edges, since headers are Latin-1. */
function decoded(city: string): string {
  if (!city.includes("%")) return city
  try {
    return decodeURIComponent(city)
  } catch {
    return city
  }
}
