// Calls Twilio's Trust Hub (https://www.twilio.com/docs/trust-hub/trusthub-rest-api) with the credentials of a connected
// integration. Separates Twilio's refusals from temporary errors: only a refusal decides about a registration.
import { AppError, type Json, type OutgoingResponse } from "#core"
import type { Integrations } from "../../../agents/integrations/index.ts"
import type { VoiceSettings } from "../settings.ts"

export type Fields = Readonly<Record<string, Json>>

/** Twilio refused the request. A retry would be refused as well. */
export class HubRefusal extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** An inconclusive answer: a timeout, a server error, refused credentials, a malformed response. */
export class HubUnavailable extends Error {}

const pageSize = 500
const maxPages = 20
/** Statuses about the caller or a temporary condition, not about the request. */
const passing: ReadonlySet<number> = new Set([401, 403, 408, 409, 425, 429])

export interface HubAccess {
  readonly integrations: Integrations
  readonly settings: VoiceSettings
  readonly organization: string
  readonly integrationId: string
  readonly signal: AbortSignal
}

export class TrustHub {
  readonly #access: HubAccess

  constructor(access: HubAccess) {
    this.#access = access
  }

  get(path: string, query: Record<string, string> = {}): Promise<Fields> {
    return this.#call(this.#access.settings.trust_hub_url, { method: "GET", path, query })
  }

  post(path: string, form: Record<string, string>): Promise<Fields> {
    const headers = { "content-type": "application/x-www-form-urlencoded" }
    return this.#call(this.#access.settings.trust_hub_url, { method: "POST", path, headers, body: form })
  }

  /** Returns the matching list items, oldest first. */
  async find(path: string, query: Record<string, string>, matches: (item: Fields) => boolean): Promise<Fields[]> {
    const found: Fields[] = []
    let more: Record<string, string> = {}
    for (let page = 0; page < maxPages; page++) {
      const { results, meta } = await this.get(path, { ...query, PageSize: String(pageSize), ...more })
      if (!Array.isArray(results)) throw new HubUnavailable(`Trust Hub answered GET ${path} without "results".`)
      found.push(...results.filter(isFields).filter(matches))
      const next = isFields(meta) ? meta["next_page_url"] : null
      if (typeof next !== "string" || !URL.canParse(next)) return found.sort(byAge)
      more = Object.fromEntries(new URL(next).searchParams)
    }
    throw new HubUnavailable(`Trust Hub lists more than ${pageSize * maxPages} items under ${path}; remove those that are not used.`)
  }

  /** Returns the account's own number, or undefined if missing. */
  async number(accountSid: string, phoneNumber: string): Promise<Fields | undefined> {
    const path = `/2010-04-01/Accounts/${accountSid}/IncomingPhoneNumbers.json`
    const { incoming_phone_numbers: numbers } = await this.#call(this.#access.settings.twilio_url, {
      method: "GET",
      path,
      query: { PhoneNumber: phoneNumber },
    })
    if (!Array.isArray(numbers)) throw new HubUnavailable('Twilio listed no "incoming_phone_numbers".')
    return numbers.filter(isFields).find(({ phone_number }) => phone_number === phoneNumber)
  }

  async #call(
    base: string,
    request: { method: string; path: string; query?: Record<string, string>; headers?: Record<string, string>; body?: Json },
  ): Promise<Fields> {
    const { integrations, organization, integrationId, signal } = this.#access
    const answer = await integrations.call(organization, integrationId, request, { base, signal }).catch((cause: unknown) => {
      if (signal.aborted || !(cause instanceof AppError)) throw cause
      throw new HubUnavailable(cause.message, { cause })
    })
    return read(answer, `${request.method} ${request.path}`)
  }
}

function read({ status, json, origin }: OutgoingResponse, what: string): Fields {
  const body = isFields(json) ? json : undefined
  if (status >= 200 && status < 300) {
    if (body) return body
    throw new HubUnavailable(`${origin} answered ${what} with ${status}, and no JSON object.`)
  }
  const said = textOf(body?.["message"])
  if (passing.has(status) || status < 400 || status >= 500)
    throw new HubUnavailable(`${origin} answered ${what} with ${status}. ${said}`.trim())
  throw new HubRefusal(textOf(body?.["code"]) || String(status), said || `Twilio answered ${status}.`)
}

/** Returns the SID of an answer. Throws if the answer has no SID of this kind. */
export function sidOf(item: Fields, field: string, prefix: string): string {
  const sid = item[field]
  if (typeof sid === "string" && /^[A-Z]{2}[0-9a-f]{32}$/.test(sid) && sid.startsWith(prefix)) return sid
  throw new HubUnavailable(`Trust Hub's answer holds no ${field} that begins with ${prefix}.`)
}

/** Returns a text or number as bounded text. */
export function textOf(value: Json | undefined): string {
  return typeof value === "string" || typeof value === "number" ? String(value).slice(0, 1_000) : ""
}

export function isFields(value: Json | undefined): value is Record<string, Json> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function byAge(one: Fields, other: Fields): number {
  const [a, b] = [one, other].map((item) => `${textOf(item["date_created"])} ${textOf(item["sid"])}`)
  return (a ?? "") < (b ?? "") ? -1 : 1
}
