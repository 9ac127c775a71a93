// The Idempotency-Key of a request: bare, as most send it, or the quoted string of a structured header, as
// draft-ietf-httpapi-idempotency-key-header-07 asks for. Both name the same key.
import type { Request } from "express"

/** RFC 9651 section 3.3.3, parameters passed over. */
const quoted = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)" *(?:;.*)?$/

/** What is neither is given back as it is, for the call to refuse; undefined where there is none. */
export function idempotencyKeyOf(request: Request): string | undefined {
  const given = request.get("idempotency-key")
  if (given === undefined || !given.startsWith('"')) return given
  const text = quoted.exec(given)?.[1]
  // An opening quote alone is not a key: a space is never part of one.
  return text === undefined ? `${given} ` : text.replaceAll(/\\(.)/g, "$1")
}
