// Builds the searchable text of an entry: the visible parts of the event without values under secret names. The journal's
// redacted fields were redacted before.
import type { Store } from "#core"
import { type JournalEntry, redactSecrets, storedPayloads } from "#core/engine"

const maxBody = 32_768
const idsAtOnce = 200
/** Headers without information about the event, and headers that may hold a credential. */
const leftOut = /^(?:accept|connection$|content-|date$|host$|origin$|sec-|upgrade|user-agent$|via$)|auth|cookie|secret|sign|token|key/i
/** Secret parameters in the query of a URL. */
const secretParameter = /([?&][^=&"]*(?:token|secret|password|signature|key|auth|jwt|code)[^=&"]*=)[^&"#]*/gi

/** `body` is the separately stored payload, if there is one. */
export function entryText(entry: JournalEntry, body: string | undefined): string {
  const { verdict, dedupe, envelope, rows, error, response } = entry
  const parts = [body === undefined ? entry.payload_preview : body.slice(0, maxBody), ...requestTexts(entry)]
  for (const id of [verdict.event_id, verdict.event_type, dedupe?.key, entry.replay_of, entry.repeat_of]) if (id) parts.push(id)
  for (const { row_id } of rows) parts.push(row_id)
  parts.push(error?.message ?? "", response?.body ?? "")
  for (const value of [entry.transformed, envelope]) if (value !== null) parts.push(JSON.stringify(value))
  return plainText(parts.join("\n").replaceAll(secretParameter, "$1"))
}

function requestTexts({ request }: JournalEntry): string[] {
  if (!request) return []
  const headers = Object.entries(request.headers).flatMap(([name, value]) => (leftOut.test(name) ? [] : [value]))
  return [...headers, ...Object.values(redactSecrets(request.query)).flat()]
}

/** Returns redacted payloads by entry ID, for entries with a separately stored payload. */
export async function bodiesApart(store: Store, organization: string, entries: readonly JournalEntry[]): Promise<Map<string, string>> {
  const ids = entries.flatMap(({ id, request, verdict, replay_of }) => (request || !verdict.ok || replay_of !== null ? [] : [id]))
  const bodies = new Map<string, string>()
  for (let from = 0; from < ids.length; from += idsAtOnce) {
    const found = await storedPayloads(store, organization, ids.slice(from, from + idsAtOnce))
    for (const [id, body] of found) bodies.set(id, body)
  }
  return bodies
}

/** Replaces JSON escapes with their characters. */
export function plainText(text: string): string {
  if (!text.includes("\\")) return text
  return text.replaceAll(/\\(?:u([0-9a-f]{4})|(.))/gi, (_, hex: string | undefined, sign: string) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16))
    return "bfnrt".includes(sign) ? " " : sign
  })
}
