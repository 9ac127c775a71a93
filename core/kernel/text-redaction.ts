// Cuts the values of fields named like secrets out of text in one pass. The text may be JSON or not, and may be malformed,
// because previews show such text too. A megabyte from a stranger must cost no more than one scan.
import { isSecretName, mayNameSecret, redacted } from "./secret-names.ts"

/**
 * A name with optional quotes, and the following sign. A name starts only after a non-letter. Otherwise the match of a long name
 * would restart at each letter.
 */
const bareName = /(?<![\w-])([\w-]+)(["']?\s*[:=]\s*)/g
const lastBareName = /(?<![\w-])([\w-]+)\s*[:=]\s*$/
/** A bare value's end. */
const afterBare = /[\s,&}]/g
const spaces = /\s*/y

/** Returns the text without the values of secret fields. Returns the text itself if it has no secret fields. */
export function redactedText(text: string): string {
  return mayNameSecret(text) ? textWithoutSecrets(text, Number.POSITIVE_INFINITY) : text
}

/** Returns the text without these values. Reads only as far as a result of `maxLength` characters needs. */
export function textWithoutSecrets(text: string, maxLength: number): string {
  return /^\s*[[{]/.test(text.slice(0, 100)) ? jsonWithoutSecrets(text, maxLength) : plainWithoutSecrets(text, maxLength)
}

/** Scans the tokens, so escapes, nested values and malformed or cut-off text are preserved. */
function jsonWithoutSecrets(text: string, maxLength: number): string {
  let shown = ""
  let at = 0
  while (at < text.length && shown.length <= maxLength) {
    const quote = text.indexOf('"', at)
    const begin = quote < 0 ? text.length : quote
    const end = endOfString(text, begin)
    // Between strings there are signs and, outside of JSON, names without quotes.
    const between = text.slice(at, begin)
    if (isSecretName(lastBareName.exec(between.slice(-300))?.[1] ?? "")) {
      shown += between + redactedValue(text.slice(begin, end))
      at = end
      continue
    }
    if (between !== "") shown += plainWithoutSecrets(between, maxLength)
    const value = endOfSpaces(text, end)
    if (text[value] !== ":" || !isSecretName(nameOf(text.slice(begin, end)))) {
      shown += text.slice(begin, end)
      at = end
      continue
    }
    const from = endOfSpaces(text, value + 1)
    const to = endOfValue(text, from)
    shown += text.slice(begin, from) + redactedValue(text.slice(from, to))
    at = to
  }
  return shown
}

/** Preserves values that reveal no secret. */
function redactedValue(value: string): string {
  return ["null", "true", "false", ""].includes(value) ? value : `"${redacted}"`
}

function nameOf(token: string): string {
  // A very long name is judged by its end. Escapes may spell the end too.
  const short = token.length > 2_000 ? `"${token.slice(-1_000)}` : token
  try {
    return String(JSON.parse(short))
  } catch {
    return token.replaceAll('"', "")
  }
}

function plainWithoutSecrets(text: string, maxLength: number): string {
  let shown = ""
  let done = 0
  bareName.lastIndex = 0
  for (let match = bareName.exec(text); match && shown.length <= maxLength; match = bareName.exec(text)) {
    const [whole, name = ""] = match
    if (!isSecretName(name)) continue
    const from = match.index + whole.length
    shown += text.slice(done, from) + redacted
    done = endOfPlainValue(text, from)
    bareName.lastIndex = done
  }
  return shown + text.slice(done)
}

function endOfPlainValue(text: string, from: number): number {
  const quote = text[from]
  if (quote === '"' || quote === "'") {
    const end = text.indexOf(quote, from + 1)
    return end < 0 ? text.length : end + 1
  }
  afterBare.lastIndex = from
  return afterBare.exec(text)?.index ?? text.length
}

function endOfSpaces(text: string, from: number): number {
  spaces.lastIndex = from
  return spaces.test(text) ? spaces.lastIndex : from
}

/** Returns the position after the closing quote. Without a closing quote, returns the text's length. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text[end - 1 - backslashes] === "\\") backslashes++
    if (backslashes % 2 === 0) return end + 1
  }
  return text.length
}

function endOfValue(text: string, start: number): number {
  const first = text[start]
  if (first === '"') return endOfString(text, start)
  if (first !== "{" && first !== "[") {
    const bare = /[\s,\]}]/g
    bare.lastIndex = start
    return bare.exec(text)?.index ?? text.length
  }
  const brackets = /["[\]{}]/g
  brackets.lastIndex = start
  let depth = 0
  for (let match = brackets.exec(text); match; match = brackets.exec(text)) {
    const sign = match[0]
    if (sign === '"') brackets.lastIndex = endOfString(text, match.index)
    else depth += sign === "{" || sign === "[" ? 1 : -1
    if (depth === 0) return match.index + 1
  }
  return text.length
}
