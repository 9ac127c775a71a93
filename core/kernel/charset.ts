// Finds the charset of received text as browsers do: byte order mark, label, then detection if the label is wrong.
// Labels are those of the WHATWG encoding standard (TextDecoder).
import { isUtf8 } from "node:buffer"
import { analyse } from "chardet"

export interface Charset {
  /** TextDecoder's name of the encoding. */
  readonly name: string
  /** True if the label was absent or wrong. */
  readonly isDetected: boolean
}

const utf8: Charset = Object.freeze({ name: "utf-8", isDetected: false })
/** Text of these encodings can look like ASCII. */
const stateful = /^iso-2022-/
/** Three bytes of one character in UTF-8. They are rare in text of other charsets. */
const manyBytes = /[\xe2-\xef][\x80-\xbf]{2}/
const sampleBytes = 1_024
const minConfidence = 40

export function charsetOf(bytes: Buffer, label: string | undefined): Charset {
  const marked = byteOrderMark(bytes)
  if (marked) return { name: marked, isDetected: false }
  const wide = wideEncoding(bytes)
  if (wide) return { name: wide, isDetected: wide !== encodingOf(label) }
  const labelled = encodingOf(label)
  if (labelled !== undefined && stateful.test(labelled) && readable(bytes, labelled)) return { name: labelled, isDetected: false }
  if (isUtf8(bytes)) return !labelled || labelled === "utf-8" ? utf8 : mislabelled(bytes, labelled)
  if (labelled !== undefined && labelled !== "utf-8" && readable(bytes, labelled)) return { name: labelled, isDetected: false }
  return detected(bytes)
}

/** Decodes without the byte order mark. */
export function decodeText(bytes: Uint8Array, { name }: Charset): string {
  return new TextDecoder(name).decode(bytes)
}

/** Returns the charset parameter of a content type. */
export function charsetParameter(contentType: string): string | undefined {
  const [, quoted, plain] = /;\s*charset\s*=\s*(?:"([^"]*)"|([^;\s]*))/i.exec(contentType) ?? []
  return quoted ?? plain
}

/** Returns undefined for a label unknown to browsers. */
export function encodingOf(label: string | undefined): string | undefined {
  if (label === undefined || label.length > 40) return undefined
  try {
    return new TextDecoder(label.trim().replace(/^'|'$/g, "")).encoding
  } catch {
    return undefined
  }
}

function byteOrderMark(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return "utf-8"
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le"
  return bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : undefined
}

/** UTF-16 without a mark: the first character is ASCII, so one of its bytes is zero. */
function wideEncoding([first, second]: Buffer): string | undefined {
  if (first === undefined || second === undefined || (first === 0) === (second === 0)) return undefined
  return first === 0 ? "utf-16be" : "utf-16le"
}

/** Handles bytes that are also valid UTF-8. Two bytes can be a character of a double-byte charset, so such a label is trusted. */
function mislabelled(bytes: Buffer, labelled: string): Charset {
  if (isAscii(bytes)) return utf8
  const isDoubleByte = /^(?:gb|big5|euc|shift)/.test(labelled)
  if (isDoubleByte && !manyBytes.test(bytes.toString("latin1")) && readable(bytes, labelled)) return { name: labelled, isDetected: false }
  return { name: "utf-8", isDetected: true }
}

function isAscii(bytes: Buffer): boolean {
  return !/[\x80-\xff]/.test(bytes.toString("latin1"))
}

function readable(bytes: Buffer, name: string): boolean {
  try {
    new TextDecoder(name, { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

/** Few bytes give weak evidence. The default is the charset of Western Europe, as in browsers. */
function detected(bytes: Buffer): Charset {
  const [best] = analyse(sampleOf(bytes))
  const found = best && best.confidence >= minConfidence ? encodingOf(best.name) : undefined
  const name = found !== undefined && found !== "utf-8" && readable(bytes, found) ? found : "windows-1252"
  return { name, isDetected: true }
}

/** Returns the bytes around the first non-ASCII character. Detection over more bytes is slow. */
function sampleOf(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte >= 0x80)
  const start = Math.max(0, first - 64)
  return bytes.subarray(start, start + sampleBytes)
}
