// Decodes bytes by a charset label: the Encoding Standard, code pages, and the seven-bit charsets of mail.
import iconv from "iconv-lite"

/** Labels without information about bytes above 127. */
const unlabelled =
  /^(?:|us-ascii|ascii|ansi_x3\.4-19(?:68|86)|iso646-us|cp367|(?:x-)?unknown(?:-8bit)?|8bit|7bit|default.*|_autodetect.*|none|null|ansi|text|plain)$/
/** Encodings of iconv-lite other than charsets. */
const foreign = /^(?:hex|base64|binary|internal)$/

const aliases: Readonly<Record<string, string>> = {
  utf8: "utf-8",
  utf8mb4: "utf-8",
  "unicode-1-1-utf-8": "utf-8",
  "unicode-1-1-utf-7": "utf-7",
  "iso-8859-1": "windows-1252",
  "iso8859-1": "windows-1252",
  "iso_8859-1": "windows-1252",
  latin1: "windows-1252",
  "iso-8859-9": "windows-1254",
  "iso-8859-8-i": "iso-8859-8",
  "iso-8859-8-e": "iso-8859-8",
  "iso-8859-11": "windows-874",
  gb2312: "gb18030",
  "gb_2312-80": "gb18030",
  gbk: "gb18030",
  "x-gbk": "gb18030",
  cp936: "gb18030",
  "windows-936": "gb18030",
  hz: "hz-gb-2312",
}

/** Returns the normalized label. Empty for a label without information. */
export function labelOf(declared: string): string {
  const plain = declared.trim().replace(/["']/g, "").toLowerCase().split("*")[0] ?? ""
  return unlabelled.test(plain) ? "" : (aliases[plain] ?? plain)
}

/** Returns true for the charsets of Chinese, Japanese and Korean. */
export function isMultiByte(label: string): boolean {
  return /^(?:gb|big5|cn-big5|(?:x-)?euc|ks|cp9(?:32|49|50)|windows-(?:31j|949|950)|shift|sjis|x-sjis|ms_?kanji|uhc|korean)/.test(label)
}

/** Decodes by a label of `labelOf`. Returns undefined if the charset is unknown or a byte is invalid. */
export function decodeAs(label: string, bytes: Uint8Array): string | undefined {
  if (label === "utf-8") return strictly(label, bytes)
  if (/^(?:cs)?iso-?2022-?jp/.test(label)) return strictly("iso-2022-jp", bytes)
  if (label === "iso-2022-kr") return whole(decodeShifted(bytes))
  if (label === "hz-gb-2312") return whole(decodeHz(bytes))
  // Node's TextDecoder treats windows-1252 as Latin-1 and loses its quotes and dashes.
  if (label !== "" && !foreign.test(label) && iconv.encodingExists(label)) {
    const text = whole(iconv.decode(Buffer.from(bytes), label, { stripBOM: false }))
    if (text !== undefined) return text
  }
  return label === "windows-1252" ? undefined : strictly(label, bytes)
}

/** As `decodeAs`, with U+FFFD for invalid bytes. */
export function decodeRoughly(label: string, bytes: Uint8Array): string {
  if (label === "utf-8" || !iconv.encodingExists(label) || foreign.test(label)) return new TextDecoder("utf-8").decode(bytes)
  return iconv.decode(Buffer.from(bytes), label)
}

function strictly(label: string, bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder(label, { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function whole(text: string): string | undefined {
  return text.includes("\ufffd") ? undefined : text
}

/** Decodes ISO-2022-KR (RFC 1557): Korean between SO and SI. */
function decodeShifted(bytes: Uint8Array): string {
  const plain: number[] = []
  let shifted = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === 0x0e || byte === 0x0f) shifted = byte === 0x0e
    else if (byte === 0x1b && bytes[at + 1] === 0x24 && bytes[at + 2] === 0x29) at += 3
    else plain.push(shifted && byte > 0x20 ? byte | 0x80 : byte)
  }
  return iconv.decode(Buffer.from(plain), "cp949")
}

/** Decodes HZ (RFC 1843): Chinese between ~{ and ~}. */
function decodeHz(bytes: Uint8Array): string {
  const text = Buffer.from(bytes)
    .toString("latin1")
    .replace(/~\r?\n/g, "")
  const high = text.replace(/~\{([\x21-\x7e]*?)~\}/g, (_, inner: string) =>
    Array.from(inner, (one) => String.fromCharCode(one.charCodeAt(0) | 0x80)).join(""),
  )
  return iconv.decode(Buffer.from(high.replaceAll("~~", "~"), "latin1"), "gb18030")
}
