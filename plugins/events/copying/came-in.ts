// What an event came with, as its sender could send it once more: the body in the form that it had, less what is redacted and
// what belongs to the connection that it came over.
import { AppError, isRecord, type Store } from "#core"
import { EntryCollection, type JournalEntry, redactedText, redactSecrets, storedPayload } from "#core/engine"

export interface CameIn {
  /** JSON, or a form's fields as they are sent. */
  readonly body: string
  /** In the JSON, or the form's fields. */
  readonly fields: unknown
  readonly isForm: boolean
  readonly contentType: string
  /** Names in lower case; without the content type. */
  readonly headers: Record<string, string>
  readonly query: Record<string, string | string[]>
}

const formType = "application/x-www-form-urlencoded"
const ofConnection =
  /^(?:accept|accept-.*|cdn-.*|cf-.*|content-.*|connection|date|dnt|expect|fly-.*|forwarded|host|if-.*|origin|priority|referer|sec-.*|te|traceparent|tracestate|trailer|upgrade.*|user-agent|via|x-amz.*|x-cloud-.*|x-forwarded-.*|x-real-ip|x-request-id|cache-control|pragma)$/

/** Throws `failed_precondition` where it was not kept, or no longer is. */
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
  const fields = parsed(json)
  // Parts of a form with several are sent as one of plain fields, which is read alike.
  const isForm = /^(?:application\/x-www-form-urlencoded|multipart\/form-data)/i.test(type) && isRecord(fields)
  return {
    body: isForm ? urlencoded(fields) : json,
    fields,
    isForm,
    contentType: isForm ? formType : isPlain(type) ? type : "application/json",
    headers,
    query,
  }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown
  } catch {
    return undefined
  }
}

function urlencoded(fields: Record<string, unknown>): string {
  const pairs = Object.entries(fields).flatMap(([name, values]) => [values].flat().map((value) => [name, String(value)]))
  return new URLSearchParams(pairs as [string, string][]).toString()
}

/** What a shell, a terminal and a header take as it is. */
function isPlain(value: string): boolean {
  return /^[\x20-\x7e]+$/.test(value)
}

const hiding = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** Marks that turn or hide what stands beside them, by their codes, as JSON and YAML write them within quotes. */
export function visible(text: string): string {
  return text.replace(hiding, (sign) => ("\n\t\r".includes(sign) ? sign : codes(sign)))
}

function codes(sign: string): string {
  return Array.from({ length: sign.length }, (_, at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")
}
