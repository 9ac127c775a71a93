// Describes the first syntax error of a JSON text. V8's message omits the position in some cases and quotes the sender's data
// in others, possibly with secrets.

const literals = ["true", "false", "null"]
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what JSON forbids in strings.
const plainText = /[^"\\\u0000-\u001f]*/y
const escapeSequence = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

class Fault extends Error {
  readonly at: number
  constructor(message: string, at: number) {
    super(message)
    this.at = at
  }
}

export interface JsonFault {
  /** From 0. The text's length if the text ends too early. */
  readonly offset: number
  /** From 1. */
  readonly line: number
  /** From 1. */
  readonly column: number
  /** The expected token. */
  readonly fault: string
}

/** Finds the first syntax error. Call it for a text refused by JSON.parse. */
export function jsonFault(text: string): JsonFault {
  let at = text.length
  let fault = "nothing is wrong"
  try {
    const end = skipSpace(text, readValue(text, skipSpace(text, 0), 0))
    if (end < text.length) throw new Fault("text follows the end of the JSON value", end)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    at = error.at
    fault = error.message
  }
  const before = text.slice(0, at)
  return { offset: at, line: before.split("\n").length, column: at - before.lastIndexOf("\n"), fault }
}

function skipSpace(text: string, at: number): number {
  let end = at
  while (" \t\n\r".includes(text.charAt(end)) && end < text.length) end++
  return end
}

function readValue(text: string, at: number, depth: number): number {
  if (depth > 1_000) throw new Fault("it nests deeper than 1000 levels", at)
  const first = text.charAt(at)
  if (first === "{") return readList(text, at, depth, "}", true)
  if (first === "[") return readList(text, at, depth, "]", false)
  if (first === '"') return readString(text, at)
  const literal = literals.find((word) => text.startsWith(word, at))
  if (literal) return at + literal.length
  return readPattern(text, at, number) ?? expected("a value", at, text)
}

function readList(text: string, at: number, depth: number, close: string, keyed: boolean): number {
  let next = skipSpace(text, at + 1)
  if (text.charAt(next) === close) return next + 1
  for (;;) {
    if (keyed) next = readKey(text, next)
    next = skipSpace(text, readValue(text, next, depth + 1))
    const mark = text.charAt(next)
    if (mark === close) return next + 1
    if (mark !== ",") return expected(`"," or "${close}"`, next, text)
    next = skipSpace(text, next + 1)
  }
}

function readKey(text: string, at: number): number {
  if (text.charAt(at) !== '"') return expected("a property name in double quotes", at, text)
  const colon = skipSpace(text, readString(text, at))
  if (text.charAt(colon) !== ":") return expected('":"', colon, text)
  return skipSpace(text, colon + 1)
}

function readString(text: string, at: number): number {
  let next = at + 1
  for (;;) {
    next = readPattern(text, next, plainText) ?? next
    if (text.charAt(next) === '"') return next + 1
    next = readPattern(text, next, escapeSequence) ?? expected("the end of a string or a valid escape", next, text)
  }
}

function readPattern(text: string, at: number, pattern: RegExp): number | undefined {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}

function expected(what: string, at: number, text: string): never {
  throw new Fault(`expected ${what}${at >= text.length ? " before the text ended" : ""}`, at)
}
