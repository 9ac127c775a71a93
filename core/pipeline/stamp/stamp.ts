// The columns stamped on every dataset row at ingestion (specification 2.11), as far as the request alone tells them.
// "" everywhere means "no signal".

import type { Json } from "../../contract/collection.ts"
import type { Envelope, PageEnvelope } from "../../contract/envelope.ts"
import type { UserAgents } from "../../contract/user-agents.ts"
import type { CoreConfig } from "../../kernel/config-schema.ts"
import { geographyOf } from "./geography.ts"
import type { Headers } from "./headers.ts"
import { languageOf } from "./language.ts"

/** What a request says of device and place, stamped on rows. */
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

/** The stamped columns of a row, from the envelope that the event ended up with. */
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

/** `true` when the request is tagged as test traffic by its header. */
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
