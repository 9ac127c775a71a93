// Rebuilds the request of an event for sending it again. The body has its original form. Redacted fields and headers of the
// connection are left out.
import { AppError, isRecord, parsedJson, type Store } from "#core"
import { EntryCollection, type JournalEntry, redactedText, redactSecrets, storedPayload } from "#core/engine"

export interface CameIn {
  /** JSON, or a URL-encoded form. */
  readonly body: string
  /** The body as JSON text. */
  readonly json: string
  readonly isForm: boolean
  readonly contentType: string
  /** Lower-case names, without the content type. */
  readonly headers: Record<string, string>
  readonly query: Record<string, string | string[]>
}

const formType = "application/x-www-form-urlencoded"
const multipartType = /^multipart\/form-data/i
const ofConnection =
  /^(?:accept|accept-.*|cdn-.*|cf-.*|content-.*|connection|date|dnt|expect|fly-.*|forwarded|host|if-.*|origin|priority|referer|sec-.*|te|traceparent|tracestate|trailer|upgrade.*|user-agent|via|x-amz.*|x-cloud-.*|x-forwarded-.*|x-real-ip|x-request-id|cache-control|pragma)$/

/** Throws `failed_precondition` if the payload was not stored or has expired. */
export async function cameIn(
  { store, days, now }: { readonly store: Store; readonly days: number; readonly now: number },
  organization: string,
  entry: JournalEntry,
): Promise<CameIn> {
  const first = entry.replay_of ?? entry.repeat_of
  const origin = first === null ? entry : await store.open(EntryCollection, organization).get(first)
  const kept = origin && (await storedPayload(store, organization, origin, days, now))
  if (!kept)
    throw new AppError("failed_precondition", "The event's payload is not stored: the event was rejected, or the payload has expired.", {
      reason: "payload_expired",
    })
  const { "content-type": type = "application/json", ...given } = kept.headers
  const headers = Object.fromEntries(Object.entries(given).filter(([name, value]) => !ofConnection.test(name) && isPlain(value)))
  const query = redactSecrets(kept.query)
  const json = visible(redactedText(kept.body))
  const form = type.toLowerCase().startsWith(formType) || multipartType.test(type) ? urlencoded(parsedJson(json)) : undefined
  const isForm = form !== undefined
  return {
    body: form ?? json,
    json,
    isForm,
    contentType: isForm ? formType : isPlain(type) && !multipartType.test(type) ? type : "application/json",
    headers,
    query,
  }
}

/** Returns undefined for values that no form can hold: JSON with the content type of a form, or files. */
function urlencoded(fields: unknown): string | undefined {
  if (!isRecord(fields)) return undefined
  const pairs = Object.entries(fields).flatMap(([name, values]) => [values].flat().map((value) => [name, value] as const))
  if (!pairs.every(([name, value]) => typeof value === "string" || (name === "is_test" && typeof value === "boolean"))) return undefined
  return new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, String(value)])).toString()
}

/** Returns true for printable ASCII, safe in a shell, a terminal and a header. */
function isPlain(value: string): boolean {
  return /^[\x20-\x7e]+$/.test(value)
}

const hiding = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** Replaces control and formatting characters with their escape codes, as in quoted JSON and YAML strings. */
export function visible(text: string): string {
  return text.replace(hiding, (sign) => ("\n\t\r".includes(sign) ? sign : codes(sign)))
}

function codes(sign: string): string {
  return Array.from({ length: sign.length }, (_, at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")
}
