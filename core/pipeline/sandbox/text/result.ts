// Turns a transform's result into JSON text, or reports the reason for a failure. Like in JSON.stringify, NaN and Infinity become
// null, `undefined` members are omitted and `toJSON` is called. Values that it would silently drop or empty (functions, symbols,
// Maps, Sets, ...) are refused with a pointer.
import { excessOf } from "../../../kernel/json-shape.ts"
import { maxDepth, nestsTooDeep } from "./json-depth.ts"
import { hasUnstorableText, unstorableText, withoutHalves } from "./unstorable-text.ts"

const maxBytes = 1_048_576

export class BadResult extends Error {}

/** Returns the JSON text of an object or a list, or "null" for null and undefined. Throws BadResult. */
export function resultText(value: unknown): string {
  if (value === null || value === undefined) return "null"
  if (typeof value !== "object") throw new BadResult(`transform returned ${article(typeof value)}; return an object, a list or null`)
  inspect(value, "", 0)
  const text = stringify(value)
  const first = text?.charCodeAt(0)
  if (text === undefined || (first !== 123 && first !== 91))
    throw new BadResult("transform's result has a toJSON that does not return an object or list")
  // A getter may have returned another value on its first read.
  if (nestsTooDeep(text)) throw new BadResult(`transform's result nests deeper than ${maxDepth} levels`)
  if (holdsProto(text)) throw new BadResult("transform's result holds a property named \"__proto__\", which can't be kept")
  // A unit is one to three bytes. An exact count is slow for a megabyte.
  const excess = excessOf(text)
  if (excess) throw new BadResult(`transform's result has more than ${excess.limit} ${excess.of}`)
  if (text.length > maxBytes || (text.length * 3 > maxBytes && byteLength(text) > maxBytes)) throw tooLong()
  return hasUnstorableText(text) ? storable(text) : text
}

/** Repairs text cut within a character. A name with NUL is refused, because no cut produces it. */
function storable(text: string): string {
  const mended = withoutHalves(text)
  const found = unstorableText(JSON.parse(mended))
  if (found) throw new BadResult(`transform's result ${found.problem}, which can't be kept`)
  return mended
}

/** Returns true if the output of JSON.stringify contains a `__proto__` property. */
export function holdsProto(text: string): boolean {
  return text.includes('"__proto__":') && /(?<!\\)"__proto__":/.test(text)
}

function tooLong(): BadResult {
  return new BadResult(`transform returned more than ${maxBytes} bytes of JSON`)
}

function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof RangeError && /string length/.test(error.message)) throw tooLong()
    throw error
  }
}

function inspect(value: object, pointer: string, depth: number): void {
  if (depth > maxDepth)
    throw new BadResult(`transform's result nests deeper than ${maxDepth} levels, or contains itself, at ${shown(pointer)}`)
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) inspectMember(value[i], pointer, String(i), depth)
    return
  }
  if ("toJSON" in value && typeof value.toJSON === "function") return
  const kind = Object.prototype.toString.call(value)
  if (kind !== "[object Object]" && kind !== "[object Error]") refuseContainer(value, kind, pointer)
  for (const key of Object.keys(value)) inspectMember((value as Record<string, unknown>)[key], pointer, key, depth)
}

function refuseContainer(value: object, kind: string, pointer: string): void {
  const held =
    value instanceof Map || value instanceof Set || value instanceof RegExp || ArrayBuffer.isView(value) || value instanceof ArrayBuffer
  if (held) throw new BadResult(`transform's result holds ${article(kind.slice(8, -1))} at ${shown(pointer)}, which JSON cannot represent`)
}

function inspectMember(value: unknown, pointer: string, key: string, depth: number): void {
  switch (typeof value) {
    case "function":
    case "symbol":
    case "bigint":
      throw new BadResult(`transform's result holds ${article(typeof value)} at ${shown(step(pointer, key))}, which JSON cannot represent`)
    case "object":
      if (value !== null) inspect(value, step(pointer, key), depth + 1)
  }
}

function step(pointer: string, key: string): string {
  return pointer.length > 200 ? pointer : `${pointer}/${key.slice(0, 64).replaceAll("~", "~0").replaceAll("/", "~1")}`
}

function shown(pointer: string): string {
  return pointer === "" ? "its top" : pointer
}

function article(kind: string): string {
  return /^[aeiou]/i.test(kind) ? `an ${kind}` : `a ${kind}`
}

/** Returns the size of a text in UTF-8. Isolates have no built-in function for it. */
export function byteLength(text: string): number {
  let bytes = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    // A surrogate pair is four bytes, two per unit.
    bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3
  }
  return bytes
}
