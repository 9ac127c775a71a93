// The columns stamped on every dataset row at ingestion, derived from the request. "" means "no signal" in every column.
import type { Json } from "../../contract/collection.ts"
import type { Envelope, PageEnvelope, UserAgents } from "../../contract/envelope.ts"
import type { CoreConfig } from "../../kernel/config-schema.ts"

/** Request headers for the stamp. Names are in lower case, and a repeated header is a list. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** Device and place of a request, stamped on rows. */
export interface RequestStamp {
  readonly device_type: string
  readonly browser: string
  readonly in_app: string
  readonly language: string
  readonly country: string
  readonly region: string
  readonly city: string
}

/** Reads the stamp of a request from its headers. */
export type Stamper = (headers: Headers) => RequestStamp

export function stampOf(headers: Headers, geo: CoreConfig["inbound"]["geo"], classify: UserAgents): RequestStamp {
  const { device_type, browser, in_app } = classify(first(headers["user-agent"]))
  const { country, region, city } = geographyOf(headers, geo)
  return { device_type, browser, in_app, language: languageOf(first(headers["accept-language"])), country, region, city }
}

/** Returns the stamped columns of a row, from the final envelope of the event. */
export function stampedColumns(page: PageEnvelope, request: RequestStamp, isTest: boolean): Record<string, Json> {
  return {
    variant: page.variant ?? "",
    artifact_id: page.artifact_id ?? "",
    page_url: page.page_url ?? "",
    is_test: isTest,
    device_type: request.device_type,
    browser: request.browser,
    in_app: request.in_app,
    language: request.language,
    country: request.country,
    region: request.region,
    city: request.city,
  }
}

/** Returns `true` if a header marks the request as test traffic. */
export function taggedAsTest(headers: Headers): boolean {
  const value = first(headers["x-service-test"])
  return value === "1" || value.toLowerCase() === "true"
}

export function envelopeOf(
  page: PageEnvelope,
  request: RequestStamp,
  known: Pick<Envelope, "received_at" | "is_test" | "event_id" | "event_type">,
): Envelope {
  return { ...page, ...known, ...request }
}

function first(value: string | readonly string[] | undefined): string {
  return typeof value === "string" ? value : (value?.[0] ?? "")
}

// Country, region and city from the headers of an edge network. Only the configured edge is trusted, because without an edge any
// sender can set these headers. Sources: the networks' own documentation of their request headers.

interface Geography {
  /** ISO 3166-1 alpha-2, upper case. */
  readonly country: string
  /** ISO 3166-2 with the country: `US-CA`. */
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
  // Edges send the subdivision with or without the country prefix.
  const given = text(headers[names.region]).toUpperCase()
  const subdivision = given.startsWith(`${country}-`) ? given.slice(country.length + 1) : given
  const region = /^[A-Z0-9]{1,3}$/.test(subdivision) ? `${country}-${subdivision}` : ""
  return { country, region, city: decoded(text(headers[names.city])).slice(0, 200) }
}

function text(value: string | readonly string[] | undefined): string {
  return (typeof value === "string" ? value : (value?.[0] ?? "")).trim()
}

/** Some edges percent-encode city names, because headers are Latin-1. */
function decoded(city: string): string {
  if (!city.includes("%")) return city
  try {
    return decodeURIComponent(city)
  } catch {
    return city
  }
}

// Returns the primary tag of an Accept-Language header (RFC 9110 section 12.5.4): the preferred language without its region.
// Results are cached, because few distinct headers cause most of the traffic.

const tag = /^[a-z]{2,3}$/

const maxRemembered = 1_024
const remembered = new Map<string, string>()

export function languageOf(header: string): string {
  if (header === "") return ""
  const known = remembered.get(header)
  if (known !== undefined) return known
  const language = maxWanted(header)
  if (remembered.size >= maxRemembered) remembered.clear()
  if (header.length <= 512) remembered.set(header, language)
  return language
}

function maxWanted(header: string): string {
  let best = ""
  let bestQuality = 0
  for (const part of header.slice(0, 512).split(",")) {
    const [range = "", ...parameters] = part.trim().split(";")
    const primary = range.trim().split("-", 1)[0]?.toLowerCase() ?? ""
    const quality = qualityOf(parameters)
    if (tag.test(primary) && quality > bestQuality) {
      best = primary
      bestQuality = quality
    }
  }
  return best
}

function qualityOf(parameters: readonly string[]): number {
  const given = parameters
    .map((parameter) => /^\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*$/i.exec(parameter)?.[1])
    .find((value) => value !== undefined)
  return given === undefined ? 1 : Number(given)
}
