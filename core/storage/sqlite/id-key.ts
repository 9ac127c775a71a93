// Stored form of ids for comparison. Most ids are canonical UUIDs and need 16 bytes instead of 36. Random ids each touch a page
// of their index, so the size matters.
// The order of keys equals the order of the id texts. Any other id is stored as the greatest lower UUID followed by the id's own
// text. An id below every UUID is text, because SQLite sorts text before bytes.

const length = 36
const uuidBytes = 16
const lowest = 48
const nine = 57
const a = 97
const f = 102
const dash = 45

/** Returns the key of an id. Keys have the order of ids by code point. */
export function idKey(id: string): string | Uint8Array {
  const fitting = fittingPrefix(id)
  if (fitting === length && id.length === length) return bytesOf(id)
  const below = greatestBelow(id, fitting)
  return below === undefined ? id : Buffer.concat([bytesOf(below), Buffer.from(id)])
}

/** Returns the id of a key. */
export function idOf(key: string | Uint8Array): string {
  if (typeof key === "string") return key
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.byteLength)
  if (bytes.length > uuidBytes) return bytes.toString("utf8", uuidBytes)
  const hex = bytes.toString("hex")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Returns the length of the prefix that could start a canonical UUID. */
function fittingPrefix(id: string): number {
  const end = Math.min(id.length, length)
  for (let at = 0; at < end; at++) {
    const code = id.charCodeAt(at)
    const fits = isDash(at) ? code === dash : (code >= lowest && code <= nine) || (code >= a && code <= f)
    if (!fits) return at
  }
  return end
}

function bytesOf(uuid: string): Buffer {
  return Buffer.from(uuid.slice(0, 8) + uuid.slice(9, 13) + uuid.slice(14, 18) + uuid.slice(19, 23) + uuid.slice(24), "hex")
}

/** Returns the largest UUID before a non-UUID id, or undefined. */
function greatestBelow(id: string, fitting: number): string | undefined {
  const prefix = id.slice(0, fitting)
  if (fitting === length) return prefix
  const code = id.length > fitting ? id.charCodeAt(fitting) : 0
  if (isDash(fitting) ? code > dash : code > nine) {
    const last = isDash(fitting) ? "-" : code > f ? "f" : "9"
    return filled(prefix + last)
  }
  // The id is below all UUIDs with the prefix. Returns the greatest UUID with the preceding prefix.
  for (let at = fitting - 1; at >= 0; at--) {
    const digit = prefix.charCodeAt(at)
    if (isDash(at) || digit === lowest) continue
    return filled(prefix.slice(0, at) + String.fromCharCode(digit === a ? nine : digit - 1))
  }
  return undefined
}

const greatest = "ffffffff-ffff-ffff-ffff-ffffffffffff"

function filled(prefix: string): string {
  return prefix + greatest.slice(prefix.length)
}

function isDash(at: number): boolean {
  return at === 8 || at === 13 || at === 18 || at === 23
}
